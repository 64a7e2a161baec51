// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/load_balancer.hpp"

#include <cerrno>

namespace zlink::sockets {

/// Sends to its peers in turn. SCATTER is made of it.
class push : public core::pattern {
public:
    void attach(core::pipe_end& pipe) override { out_.add(pipe); }
    void writable(core::pipe_end& pipe) override { out_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { out_.remove(pipe); }
    void detach(core::pipe_end& pipe) override { out_.remove(pipe); }
    bool reads_from(const core::pipe_end&) const noexcept override { return false; }

    int send(const core::frame& part) override { return out_.send(part); }
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        return out_.put(data, size, more);
    }
    void last_part_refused() noexcept override { out_.last_part_refused(); }
    core::pipe_end* only_target() noexcept override { return out_.only(); }
    int receive(core::frame&) override { return ENOTSUP; }
    void received() override {}
    bool can_send() override { return out_.can_send(); }
    bool can_receive() override { return false; }

private:
    load_balancer out_;
};

} // namespace zlink::sockets
