// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/fair_queue.hpp"
#include "sockets/policy/load_balancer.hpp"

namespace zlink::sockets {

/// The part that DEALER, CLIENT and REQ share: they send to their peers in turn and receive from
/// all of them alike.
class balanced : public core::pattern {
public:
    void attach(core::pipe_end& pipe) override
    {
        in_.add(pipe);
        out_.add(pipe);
    }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void writable(core::pipe_end& pipe) override { out_.activate(pipe); }
    void peer_closed(core::pipe_end& pipe) override { out_.remove(pipe); }
    void detach(core::pipe_end& pipe) override
    {
        in_.remove(pipe);
        out_.remove(pipe);
    }

    void received() override { in_.pop(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    void last_part_refused() noexcept override { out_.last_part_refused(); }
    core::pipe_end* only_target() noexcept override { return out_.only(); }
    core::pipe_end* only_source() noexcept override { return in_.only(); }
    bool can_send() override { return out_.can_send(); }

protected:
    explicit balanced(core::pattern_host& host) : in_(host) {}

    fair_queue in_;
    load_balancer out_;
};

} // namespace zlink::sockets
