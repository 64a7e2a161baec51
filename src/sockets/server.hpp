// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/fair_queue.hpp"

#include <cstdint>
#include <unordered_map>

namespace zlink::sockets {

/// Gives each peer a number, by which it is sent to, and receives from all; messages have one part.
/// PEER is made of it.
class server : public core::pattern, core::number_rules {
public:
    explicit server(core::pattern_host& host);

    void attach(core::pipe_end& pipe) override;
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { forget(pipe); }
    void detach(core::pipe_end& pipe) override;

    int send(const core::frame& part) override;
    int receive(core::frame& part) override;
    core::taken_part take(std::size_t most) noexcept override;
    void received() override { in_.pop(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return true; }
    bool can_receive() override;

    core::number_rules* numbers() noexcept override { return this; }
    std::uint32_t newest_peer() const noexcept override { return newest_id_; }
    int drop_peer(std::uint32_t routing_id) override;

private:
    core::pipe_end* find(std::uint32_t routing_id) noexcept
    {
        if (recent_ && recent_->slot.peer_id == routing_id) [[likely]]
            return recent_;
        const auto peer = peers_.find(routing_id);
        return peer == peers_.end() ? nullptr : recent_ = peer->second;
    }
    void forget(core::pipe_end& pipe);

    core::pattern_host& host_;
    fair_queue in_;
    std::unordered_map<std::uint32_t, core::pipe_end*> peers_;
    core::pipe_end* recent_ = nullptr; ///< the peer sent to last, if it is still there
    std::uint32_t newest_id_;
};

} // namespace zlink::sockets
