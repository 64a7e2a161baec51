// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/round_robin.hpp"

#include <cerrno>
#include <utility>

namespace zlink::sockets {

/// Sends whole messages to writable pipes in turn, passing over full ones. Active are those that
/// may have room.
class load_balancer {
public:
    void add(core::pipe_end& pipe) { round_robin_.add(pipe); }

    /// The pipe has become writable.
    void activate(core::pipe_end& pipe) { round_robin_.activate(pipe); }

    void remove(core::pipe_end& pipe)
    {
        if (!contains(pipe))
            return;
        if (target_ == &pipe) {
            target_ = nullptr;
            dropping_ = lost_ = true; // the rest of the message has nowhere to go
        }
        round_robin_.remove(pipe);
    }

    /// 0, EAGAIN, or ENOMEM. When the peer is lost in the middle of a message, the next part gets
    /// EAGAIN once, and then the rest is taken and dropped. After ENOMEM the part can be sent
    /// again, or the parts before be taken back by give_up_message(). `to` (if given) is set to the
    /// pipe of a message's first part.
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
        core::pipe_end* const pipe = target_ ? target_ : round_robin_.current();
        if (to)
            *to = pipe;
        if (!pipe->out.write(part)) [[unlikely]]
            return ENOMEM;
        if (part.more()) {
            target_ = pipe;
            return 0;
        }
        target_ = nullptr;
        round_robin_.next_after(*pipe);
        return 0;
    }

    /// Takes back the parts of an unfinished message.
    void give_up_message() noexcept
    {
        if (target_)
            std::exchange(target_, nullptr)->out.give_up_message();
    }

    /// See core::pattern: there is no rest that would have to be dropped.
    void last_part_refused() noexcept { dropping_ = lost_; }

    /// send() for a small part, if nothing is in its way; false if send() has to look.
    bool put(const std::byte* data, std::size_t size, bool more) noexcept
    {
        core::pipe_end* pipe = target_;
        if (!pipe) {
            if (dropping_ || round_robin_.none_active())
                return false;
            pipe = round_robin_.current();
            if (!pipe->out.has_room_at_hand())
                return false;
        }
        if (!pipe->out.put_part(data, size, more))
            return false;
        if (more) {
            target_ = pipe;
        } else {
            target_ = nullptr;
            round_robin_.next_after(*pipe);
        }
        return true;
    }

    /// The pipe that all goes to, between two messages; null if there are others.
    core::pipe_end* only() const noexcept
    {
        return round_robin_.one_active() && !in_message() ? round_robin_.current() : nullptr;
    }

    bool can_send() { return target_ || dropping_ || find_room(); }
    /// Is a message begun and not finished?
    bool in_message() const noexcept { return target_ || dropping_; }
    bool contains(const core::pipe_end& pipe) const noexcept { return round_robin_.contains(pipe); }

private:
    bool find_room()
    {
        while (!round_robin_.none_active()) {
            if (round_robin_.current()->out.can_write()) [[likely]]
                return true;
            round_robin_.deactivate_current();
        }
        return false;
    }

    round_robin<&core::pipe_slot::out_index> round_robin_;
    core::pipe_end* target_ = nullptr; ///< of the message that is being sent
    bool dropping_ = false;
    bool lost_ = false; ///< nobody was told yet of what is dropped
};

} // namespace zlink::sockets
