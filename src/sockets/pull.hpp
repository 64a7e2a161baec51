// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket/pattern.hpp"
#include "sockets/policy/fair_queue.hpp"

#include <cerrno>

namespace zlink::sockets {

/// Receives from all its peers. GATHER is made of it.
class pull : public core::pattern {
public:
    explicit pull(core::pattern_host& host) : in_(host) {}

    void attach(core::pipe_end& pipe) override { in_.add(pipe); }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void detach(core::pipe_end& pipe) override { in_.remove(pipe); }

    int send(const core::frame&) override { return ENOTSUP; }
    int receive(core::frame& part) override { return in_.peek(part) ? 0 : EAGAIN; }
    core::taken_part take(std::size_t most) noexcept override { return in_.take(most); }
    core::pipe_end* only_source() noexcept override { return in_.only(); }
    void received() override { in_.pop(); }
    bool passes_bodies_on() const noexcept override { return true; }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return false; }
    bool can_receive() override
    {
        core::frame part;
        return receive(part) == 0;
    }

protected:
    fair_queue in_;
};

} // namespace zlink::sockets
