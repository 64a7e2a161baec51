// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace zlink::sockets {

/// Exactly one peer; further ones are sent away. Of one that has gone the messages are read first,
/// and meanwhile only a peer that the application has connected to takes its place. CHANNEL is made
/// of it.
class pair : public core::pattern {
public:
    explicit pair(core::pattern_host& host) : host_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        if (peer_ && !has_gone(*peer_)) {
            if (!pipe.origin.connected_side || !peer_->other_closed())
                return host_.drop(pipe);
            if (from_ != peer_)
                former_.push_back(peer_);
        }
        peer_ = &pipe;
        if (!from_)
            from_ = &pipe;
    }

    void peer_closed(core::pipe_end& pipe) override
    {
        if (peer_ == &pipe)
            lose_message();
    }

    void detach(core::pipe_end& pipe) override
    {
        std::erase(former_, &pipe);
        if (peer_ == &pipe) {
            lose_message();
            peer_ = nullptr;
        }
        if (from_ == &pipe)
            read_next();
    }

    int send(const core::frame& part) override
    {
        if (dropping_) {
            if (std::exchange(lost_, false))
                return EAGAIN; // once, as load_balancer
            in_message_ = dropping_ = part.more();
            return 0;
        }
        if (!peer_ || (!in_message_ && !peer_->out.can_write()))
            return EAGAIN;
        if (!peer_->out.write(part))
            return ENOMEM;
        in_message_ = part.more();
        return 0;
    }

    void last_part_refused() noexcept override
    {
        if (dropping_ && !lost_) // else nobody was told yet
            in_message_ = dropping_ = false;
    }

    int receive(core::frame& part) override
    {
        while (from_) {
            if (from_->in.peek(part))
                return 0;
            if (!from_->other_closed() || from_->slot.last_words_follow)
                break;
            host_.drop(*from_);
            if (from_ == peer_)
                break;
            read_next();
        }
        return EAGAIN;
    }

    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        if (!peer_ || dropping_ || !(in_message_ || peer_->out.has_room_at_hand()) ||
            !peer_->out.put_part(data, size, more))
            return false;
        in_message_ = more;
        return true;
    }
    core::pipe_end* only_target() noexcept override
    {
        return in_message_ || dropping_ ? nullptr : peer_;
    }
    core::pipe_end* only_source() noexcept override { return from_; }
    bool passes_bodies_on() const noexcept override { return true; }
    core::taken_part take(std::size_t most) noexcept override
    {
        return from_ ? from_->in.take(most) : core::taken_part{};
    }
    void received() override
    {
        if (from_)
            from_->in.pop();
    }

    const core::pipe_end* source() const noexcept override { return from_; }
    bool can_send() override
    {
        return dropping_ || in_message_ || (peer_ && peer_->out.can_write());
    }
    bool can_receive() override
    {
        core::frame part;
        return receive(part) == 0;
    }

protected:
    core::pipe_end* from_ = nullptr; ///< of the messages received: first those of former peers

private:
    // Perhaps with the same mail, or only its last message was still wanted.
    bool has_gone(core::pipe_end& peer)
    {
        core::frame unread;
        if (peer.other_closed() && !peer.in.peek(unread))
            host_.drop(peer);
        return peer.slot.dropped;
    }

    // Of the former peers in their order, then of the one there is.
    void read_next() noexcept
    {
        from_ = peer_;
        if (!former_.empty()) {
            from_ = former_.front();
            former_.erase(former_.begin());
        }
    }

    // What was begun has nowhere to go.
    void lose_message() noexcept
    {
        if (in_message_ && !std::exchange(dropping_, true))
            lost_ = true;
    }

    core::pattern_host& host_;
    core::pipe_end* peer_ = nullptr;
    std::vector<core::pipe_end*> former_; ///< to be read after from_
    bool in_message_ = false;
    bool dropping_ = false; ///< the rest of a message
    bool lost_ = false;     ///< and nobody was told yet
};

} // namespace zlink::sockets
