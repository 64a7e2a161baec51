// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/balanced.hpp"
#include "sockets/policy/router_probe.hpp"

#include <cerrno>
#include <zmq.h>

namespace zlink::sockets {
namespace {

class dealer final : public balanced {
public:
    explicit dealer(core::pattern_host& host) : balanced(host) {}

    void attach(core::pipe_end& pipe) override
    {
        probe_.greet(pipe);
        balanced::attach(pipe);
    }

    int send(const core::frame& part) override { return out_.send(part); }
    int receive(core::frame& part) override { return in_.peek(part) ? 0 : EAGAIN; }
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        return out_.put(data, size, more);
    }
    core::taken_part take(std::size_t most) noexcept override { return in_.take(most); }
    bool passes_bodies_on() const noexcept override { return true; }
    bool can_receive() override
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        return id == ZMQ_PROBE_ROUTER ? probe_.set(value, bytes) : EINVAL;
    }

private:
    router_probe probe_;
};

} // namespace

std::unique_ptr<core::pattern> make_dealer(core::pattern_host& host)
{
    return std::make_unique<dealer>(host);
}

} // namespace zlink::sockets
