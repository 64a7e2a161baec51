// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sockets/policy/fair_queue.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace zlink::sockets {

/// Receives whole messages from readable pipes in turn, each behind a part that names its pipe.
class addressed_queue {
public:
    addressed_queue(core::pattern_host& host, core::addressed_progress& progress)
        : host_(host), in_(host), id_given_(progress.id_given)
    {
        progress.addressed = true;
    }

    void add(core::pipe_end& pipe)
    {
        ending_.erase(&pipe);
        if (!in_.contains(pipe))
            in_.add(pipe);
    }
    /// The pipe has become readable.
    void activate(core::pipe_end& pipe) { in_.activate(pipe); }
    void remove(core::pipe_end& pipe)
    {
        ending_.erase(&pipe);
        if (in_.last() == &pipe)
            id_given_ = false; // what comes next is a message from its beginning
        in_.remove(pipe);
    }
    /// Removes the pipe once it has given the messages that are there now. May throw
    /// std::bad_alloc, and nothing has changed.
    void end(core::pipe_end& pipe)
    {
        if (!in_.contains(pipe))
            return;
        std::uint64_t& remaining = ending_[&pipe];
        host_.ignore_arrivals(pipe);
        remaining = pipe.in.unread_messages();
        if (remaining == 0)
            remove(pipe);
    }
    bool contains(const core::pipe_end& pipe) const noexcept { return in_.contains(pipe); }

    /// The next part: 0, or EAGAIN if there is none.
    int receive(core::frame& part)
    {
        core::pipe_end* const pipe = in_.peek(part);
        if (!pipe)
            return EAGAIN;
        if (!id_given_)
            part = core::frame_of(pipe->slot.routing_id, true);
        return 0;
    }

    /// Moves past the part given last.
    void received()
    {
        if (!id_given_) {
            id_given_ = in_.last() != nullptr;
            return;
        }
        id_given_ = in_.last() != nullptr && in_.more();
        in_.pop();
        if (!ending_.empty()) [[unlikely]]
            count_last_words();
    }

    /// receive() and received() in one, for what fair_queue::take() gives.
    core::taken_part take(std::size_t most) noexcept
    {
        if (!ending_.empty()) [[unlikely]]
            return {};
        if (id_given_) {
            const core::taken_part part = in_.take(most);
            id_given_ = !part || part.more();
            return part;
        }
        const core::pipe_end* const pipe = in_.next_to_take();
        if (!pipe || pipe->slot.routing_id.size() > most)
            return {};
        id_given_ = true;
        const core::frame id = core::frame_of(pipe->slot.routing_id, true);
        return {id.data, id.size, true};
    }

    bool can_receive()
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }
    /// The pipe that all comes from, between two messages; null if there are others.
    core::pipe_end* only() const noexcept { return ending_.empty() ? in_.only() : nullptr; }
    /// The pipe of the part given last.
    core::pipe_end* last() const noexcept { return in_.last(); }

private:
    // A part of the pipe read last has been given.
    void count_last_words()
    {
        core::pipe_end* const pipe = in_.last();
        if (id_given_ || !pipe)
            return;
        if (const auto ending = ending_.find(pipe);
            ending != ending_.end() && --ending->second == 0)
            remove(*pipe);
    }

    core::pattern_host& host_;
    fair_queue in_;
    /// Pipes that give so many more messages and are then removed.
    std::unordered_map<const core::pipe_end*, std::uint64_t> ending_;
    bool& id_given_; ///< the part that comes next is one of the message itself
};

} // namespace zlink::sockets
