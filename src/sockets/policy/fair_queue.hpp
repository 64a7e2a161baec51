// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/discard_bound.hpp"
#include "sockets/policy/round_robin.hpp"

#include <vector>

namespace zlink::sockets {

/// Receives whole messages from readable pipes in turn. Active are those that may have something.
class fair_queue {
public:
    explicit fair_queue(core::pattern_host& host) : host_(host) {}

    void add(core::pipe_end& pipe) { round_robin_.add(pipe); }

    /// The pipe has become readable.
    void activate(core::pipe_end& pipe) { round_robin_.activate(pipe); }

    void remove(core::pipe_end& pipe)
    {
        if (!contains(pipe))
            return;
        round_robin_.remove(pipe);
        if (last_ == &pipe) {
            last_ = nullptr;
            in_message_ = skipping_ = false;
        }
    }

    bool contains(const core::pipe_end& pipe) const noexcept { return round_robin_.contains(pipe); }

    /// The next part in turn and the pipe it comes from; null if there is none.
    core::pipe_end* peek(core::frame& part)
    {
        if (in_message_) {
            if (skipping_) [[unlikely]] {
                discard_bound bound;
                if (!skip_message(bound))
                    return nullptr;
            } else if (last_->in.peek(part)) {
                more_ = part.more();
                return last_;
            }
        }
        while (!round_robin_.none_active()) {
            core::pipe_end* const pipe = round_robin_.current();
            if (pipe->in.peek(part)) [[likely]] {
                more_ = part.more();
                return last_ = pipe;
            }
            round_robin_.deactivate_current();
            if (pipe->other_closed())
                host_.drop(*pipe);
        }
        return nullptr;
    }

    /// Moves past the part peeked last.
    void pop()
    {
        if (!last_)
            return;
        last_->in.pop();
        in_message_ = more_;
        if (!more_)
            round_robin_.next_after(*last_);
    }

    /// peek() and pop() in one, for what pipe_end::take() gives; nothing if peek() has to look.
    core::taken_part take(std::size_t most) noexcept
    {
        core::pipe_end* const pipe = next_to_look_at();
        if (!pipe)
            return {};
        const core::taken_part part = pipe->in.take(most);
        if (!part)
            return {};
        last_ = pipe;
        in_message_ = more_ = part.more();
        if (!more_)
            round_robin_.next_after(*pipe);
        return part;
    }

    /// The pipe that all comes from, between two messages; null if there are others.
    core::pipe_end* only() const noexcept
    {
        return round_robin_.one_active() && !in_message_ && last_ == round_robin_.current()
                   ? last_
                   : nullptr;
    }

    /// The pipe that take() is going to read from; null if peek() has to look.
    core::pipe_end* next_to_take() noexcept
    {
        core::pipe_end* const pipe = next_to_look_at();
        if (!pipe || !pipe->in.can_take())
            return nullptr;
        return last_ = pipe;
    }

    /// Drops what is left of the message of the part peeked last, that part included. False if
    /// `bound` is used up: the call has to end, for now there is nothing. What is left follows with
    /// mail, if need be from the middle of the message.
    bool skip_message(discard_bound& bound)
    {
        if (!last_)
            return true;
        in_message_ = skipping_ = !last_->in.skip_message(bound.remaining_parts);
        if (!skipping_)
            round_robin_.next_after(*last_);
        return bound.remaining_parts != 0 || end_call();
    }
    /// One part more was popped that nobody gets. False as in skip_message().
    bool count_discarded(discard_bound& bound)
    {
        return --bound.remaining_parts != 0 || end_call();
    }

    /// Does another part follow the one peeked last?
    bool more() const noexcept { return more_; }
    /// Is a message begun to be read, and not dropped already?
    bool more_of_message() const noexcept { return in_message_ && !skipping_; }
    /// The pipe of the part peeked last.
    core::pipe_end* last() const noexcept { return last_; }
    const std::vector<core::pipe_end*>& pipes() const noexcept { return round_robin_.pipes(); }

private:
    core::pipe_end* next_to_look_at() const noexcept
    {
        if (round_robin_.none_active())
            return nullptr;
        if (!in_message_)
            return round_robin_.current();
        return skipping_ ? nullptr : last_;
    }
    // Without news of its own the call that comes next would not know that there is more.
    bool end_call()
    {
        last_->notify(core::pipe_end::readable);
        return false;
    }

    core::pattern_host& host_;
    round_robin<&core::pipe_slot::in_index> round_robin_;
    core::pipe_end* last_ = nullptr;
    bool more_ = false;       ///< of the part peeked last
    bool in_message_ = false; ///< a part of last_'s message was popped, others follow
    bool skipping_ = false;   ///< and nobody wants those
};

} // namespace zlink::sockets
