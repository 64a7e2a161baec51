// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pattern.hpp"

#include <cerrno>
#include <utility>
#include <vector>

namespace zlink::sockets {

/// Sends whole messages to writable pipes in turn, passing over full ones.
/// The first `active_` pipes are those that may have room.
class load_balancer {
public:
    void add(core::pipe_end& pipe)
    {
        pipe.out_index = pipes_.size();
        pipes_.push_back(&pipe);
        activate(pipe);
    }

    /// The pipe has become writable.
    void activate(core::pipe_end& pipe)
    {
        if (contains(pipe) && pipe.out_index >= active_)
            exchange(pipe.out_index, active_++);
    }

    void remove(core::pipe_end& pipe)
    {
        if (!contains(pipe))
            return;
        if (target_ == &pipe) {
            target_ = nullptr;
            dropping_ = lost_ = true; // the rest of the message has nowhere to go
        }
        if (pipe.out_index < active_)
            deactivate(pipe.out_index);
        exchange(pipe.out_index, pipes_.size() - 1);
        pipes_.pop_back();
    }

    /// 0, EAGAIN, or ENOMEM. When the peer is lost in the middle of a message, the next part gets
    /// EAGAIN once, and then the rest is taken and dropped. `to` (if given) is set to the pipe of a
    /// message's first part.
    int send(const core::frame& part, core::pipe_end** to = nullptr)
    {
        if (dropping_) [[unlikely]] {
            if (std::exchange(lost_, false))
                return EAGAIN;
            dropping_ = part.more();
            return 0;
        }
        if (!target_ && !find_room())
            return EAGAIN;
        core::pipe_end* const pipe = target_ ? target_ : pipes_[current_];
        if (to)
            *to = pipe;
        if (!pipe->write(part)) [[unlikely]] {
            target_ = nullptr;
            return ENOMEM;
        }
        if (part.more()) {
            target_ = pipe;
            return 0;
        }
        target_ = nullptr;
        next_after(*pipe);
        return 0;
    }

    /// send() for a message of one part, if nothing is in its way; false if send() has to look.
    bool put(const std::byte* data, std::size_t size) noexcept
    {
        if (target_ || dropping_ || active_ == 0)
            return false;
        core::pipe_end* const pipe = pipes_[current_];
        if (!pipe->put(data, size))
            return false;
        next_after(*pipe);
        return true;
    }

    bool can_send() { return target_ || dropping_ || find_room(); }
    /// Is a message begun and not finished?
    bool in_message() const noexcept { return target_ || dropping_; }
    bool contains(const core::pipe_end& pipe) const noexcept
    {
        return pipe.out_index < pipes_.size() && pipes_[pipe.out_index] == &pipe;
    }

private:
    bool find_room()
    {
        while (active_ > 0) {
            if (pipes_[current_]->can_write()) [[likely]]
                return true;
            deactivate(current_);
        }
        return false;
    }

    void next_after(const core::pipe_end& pipe)
    {
        if (active_ <= 1)
            return; // one alone keeps its turn
        current_ = pipe.out_index + 1;
        if (current_ >= active_)
            current_ = 0;
    }

    void exchange(std::size_t a, std::size_t b)
    {
        if (a == b)
            return;
        std::swap(pipes_[a], pipes_[b]);
        pipes_[a]->out_index = a;
        pipes_[b]->out_index = b;
    }

    void deactivate(std::size_t index)
    {
        exchange(index, --active_);
        if (current_ >= active_)
            current_ = 0;
    }

    std::vector<core::pipe_end*> pipes_;
    std::size_t active_ = 0;
    std::size_t current_ = 0;
    core::pipe_end* target_ = nullptr; ///< of the message that is being sent
    bool dropping_ = false;
    bool lost_ = false; ///< nobody was told yet of what is dropped
};

} // namespace zlink::sockets
