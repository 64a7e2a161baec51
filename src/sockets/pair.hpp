// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pattern.hpp"

#include <cerrno>
#include <utility>

namespace zlink::sockets {

/// Exactly one peer; further ones are sent away. CHANNEL is made of it.
class pair : public core::pattern {
public:
    explicit pair(core::pattern_host& host) : host_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        if (peer_ && !has_gone(*peer_))
            return host_.drop(pipe);
        peer_ = &pipe;
    }

    void peer_closed(core::pipe_end& pipe) override
    {
        if (peer_ == &pipe)
            lose_message();
    }

    void detach(core::pipe_end& pipe) override
    {
        if (peer_ != &pipe)
            return;
        lose_message();
        peer_ = nullptr;
    }

    int send(const core::frame& part) override
    {
        if (dropping_) {
            if (std::exchange(lost_, false))
                return EAGAIN; // once, as load_balancer
            in_message_ = dropping_ = part.more();
            return 0;
        }
        if (!peer_ || (!in_message_ && !peer_->can_write()))
            return EAGAIN;
        in_message_ = part.more();
        if (peer_->write(part))
            return 0;
        in_message_ = false;
        return ENOMEM;
    }

    void last_part_refused() noexcept override
    {
        if (dropping_ && !lost_) // else nobody was told yet
            in_message_ = dropping_ = false;
    }

    int receive(core::frame& part) override
    {
        if (!peer_)
            return EAGAIN;
        if (peer_->peek(part))
            return 0;
        if (peer_->other_closed())
            host_.drop(*peer_);
        return EAGAIN;
    }

    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        if (!peer_ || dropping_ || !(in_message_ || peer_->has_room_at_hand()) ||
            !peer_->put_part(data, size, more))
            return false;
        in_message_ = more;
        return true;
    }
    core::pipe_end* only_target() noexcept override
    {
        return in_message_ || dropping_ ? nullptr : peer_;
    }
    core::pipe_end* only_source() noexcept override { return peer_; }
    bool passes_bodies_on() const noexcept override { return true; }
    core::taken_part take(std::size_t most) noexcept override
    {
        return peer_ ? peer_->take(most) : core::taken_part{};
    }
    void received() override
    {
        if (peer_)
            peer_->pop();
    }

    const core::pipe_end* source() const noexcept override { return peer_; }
    bool can_send() override { return dropping_ || in_message_ || (peer_ && peer_->can_write()); }
    bool can_receive() override
    {
        core::frame part;
        return receive(part) == 0;
    }

protected:
    core::pipe_end* peer_ = nullptr;

private:
    // Perhaps with the same mail, or only its last message was still wanted.
    bool has_gone(core::pipe_end& peer)
    {
        core::frame unread;
        if (peer.other_closed() && !peer.peek(unread))
            host_.drop(peer);
        return peer.dropped;
    }

    // What was begun has nowhere to go.
    void lose_message() noexcept
    {
        if (in_message_ && !std::exchange(dropping_, true))
            lost_ = true;
    }

    core::pattern_host& host_;
    bool in_message_ = false;
    bool dropping_ = false; ///< the rest of a message
    bool lost_ = false;     ///< and nobody was told yet
};

} // namespace zlink::sockets
