// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pattern.hpp"

#include <utility>
#include <vector>

namespace zlink::sockets {

/// Receives whole messages from readable pipes in turn.
/// The first `active_` pipes are those that may have something.
class fair_queue {
public:
    explicit fair_queue(core::pattern_host& host) : host_(host) {}

    void add(core::pipe_end& pipe)
    {
        pipe.in_index = pipes_.size();
        pipes_.push_back(&pipe);
        activate(pipe);
    }

    /// The pipe has become readable.
    void activate(core::pipe_end& pipe)
    {
        if (contains(pipe) && pipe.in_index >= active_)
            exchange(pipe.in_index, active_++);
    }

    void remove(core::pipe_end& pipe)
    {
        if (!contains(pipe))
            return;
        if (pipe.in_index < active_)
            deactivate(pipe.in_index);
        exchange(pipe.in_index, pipes_.size() - 1);
        pipes_.pop_back();
        if (last_ == &pipe) {
            last_ = nullptr;
            in_message_ = false;
        }
    }

    bool contains(const core::pipe_end& pipe) const noexcept
    {
        return pipe.in_index < pipes_.size() && pipes_[pipe.in_index] == &pipe;
    }

    /// The next part in turn and the pipe it comes from; null if there is none.
    core::pipe_end* peek(core::frame& part)
    {
        if (in_message_ && last_->peek(part)) {
            more_ = part.more();
            return last_;
        }
        while (active_ > 0) {
            core::pipe_end* const pipe = pipes_[current_];
            if (pipe->peek(part)) [[likely]] {
                more_ = part.more();
                return last_ = pipe;
            }
            deactivate(current_);
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
        last_->pop();
        in_message_ = more_;
        if (!more_)
            next_after(*last_);
    }

    /// peek() and pop() in one, for what pipe_end::take() gives; nothing if peek() has to look.
    core::taken_part take() noexcept
    {
        core::pipe_end* const pipe = next_to_look_at();
        if (!pipe)
            return {};
        const core::taken_part part = pipe->take();
        if (!part)
            return {};
        last_ = pipe;
        in_message_ = more_ = part.more();
        if (!more_)
            next_after(*pipe);
        return part;
    }

    /// The pipe that take() is going to read from; null if peek() has to look.
    core::pipe_end* next_to_take() noexcept
    {
        core::pipe_end* const pipe = next_to_look_at();
        if (!pipe || !pipe->can_take())
            return nullptr;
        return last_ = pipe;
    }

    /// Drops what is left of the message of the part peeked last, that part included.
    void skip_message()
    {
        if (!last_)
            return;
        last_->skip_message();
        in_message_ = false;
        next_after(*last_);
    }

    /// Does another part follow the one peeked last?
    bool more() const noexcept { return more_; }
    /// The pipe of the part peeked last.
    core::pipe_end* last() const noexcept { return last_; }
    const std::vector<core::pipe_end*>& pipes() const noexcept { return pipes_; }

private:
    core::pipe_end* next_to_look_at() const noexcept
    {
        if (active_ == 0)
            return nullptr;
        return in_message_ ? last_ : pipes_[current_];
    }

    void next_after(const core::pipe_end& pipe)
    {
        if (active_ <= 1)
            return; // one alone keeps its turn
        current_ = pipe.in_index + 1;
        if (current_ >= active_)
            current_ = 0;
    }

    void exchange(std::size_t a, std::size_t b)
    {
        if (a == b)
            return;
        std::swap(pipes_[a], pipes_[b]);
        pipes_[a]->in_index = a;
        pipes_[b]->in_index = b;
    }

    // The pipe whose turn it is keeps its turn: a part of its message may be given already.
    void deactivate(std::size_t index)
    {
        exchange(index, --active_);
        if (current_ == active_)
            current_ = index;
        if (current_ >= active_)
            current_ = 0;
    }

    core::pattern_host& host_;
    std::vector<core::pipe_end*> pipes_;
    std::size_t active_ = 0;
    std::size_t current_ = 0;
    core::pipe_end* last_ = nullptr;
    bool more_ = false;       ///< of the part peeked last
    bool in_message_ = false; ///< a part of last_'s message was popped, others follow
};

} // namespace zlink::sockets
