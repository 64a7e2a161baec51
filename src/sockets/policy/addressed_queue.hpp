// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sockets/policy/fair_queue.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

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
        set_no_end(pipe);
        if (!in_.contains(pipe))
            in_.add(pipe);
    }
    /// The pipe has become readable.
    void activate(core::pipe_end& pipe) { in_.activate(pipe); }
    void remove(core::pipe_end& pipe)
    {
        set_no_end(pipe);
        if (in_.last() == &pipe)
            id_given_ = false; // what comes next is a message from its beginning
        in_.remove(pipe);
    }
    /// Removes the pipe once it has given the messages that are there now.
    void end(core::pipe_end& pipe)
    {
        if (!in_.contains(pipe))
            return;
        host_.ignore_arrivals(pipe);
        set_no_end(pipe);
        pipe.last_messages = pipe.inbound_messages();
        if (pipe.last_messages != 0)
            ++ending_;
        else
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
            part = core::frame_of(pipe->routing_id, true);
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
        if (ending_ != 0) [[unlikely]]
            count_last_words();
    }

    /// receive() and received() in one, for what fair_queue::take() gives.
    core::taken_part take(std::size_t most) noexcept
    {
        if (ending_ != 0) [[unlikely]]
            return {};
        if (id_given_) {
            const core::taken_part part = in_.take(most);
            id_given_ = !part || part.more();
            return part;
        }
        const core::pipe_end* const pipe = in_.next_to_take();
        if (!pipe || pipe->routing_id.size() > most)
            return {};
        id_given_ = true;
        const core::frame id = core::frame_of(pipe->routing_id, true);
        return {id.data, id.size, true};
    }

    bool can_receive()
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }
    /// The pipe that all comes from, between two messages; null if there are others.
    core::pipe_end* only() const noexcept { return ending_ == 0 ? in_.only() : nullptr; }
    /// The pipe of the part given last.
    core::pipe_end* last() const noexcept { return in_.last(); }

private:
    void set_no_end(core::pipe_end& pipe) noexcept
    {
        if (std::exchange(pipe.last_messages, 0) != 0)
            --ending_;
    }
    // A part of the pipe read last has been given.
    void count_last_words()
    {
        core::pipe_end* const pipe = in_.last();
        if (id_given_ || !pipe || pipe->last_messages == 0)
            return;
        if (pipe->last_messages == 1)
            remove(*pipe);
        else
            --pipe->last_messages;
    }

    core::pattern_host& host_;
    fair_queue in_;
    std::size_t ending_ = 0; ///< pipes whose last_messages are counted
    bool& id_given_;         ///< the part that comes next is one of the message itself
};

} // namespace zlink::sockets
