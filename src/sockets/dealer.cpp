// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"
#include "sockets/policy/load_balancer.hpp"

#include <cerrno>
#include <zmq.h>

namespace zlink::sockets {
namespace {

class dealer final : public core::pattern {
public:
    explicit dealer(core::pattern_host& host) : in_(host) {}

    void attach(core::pipe_end& pipe) override
    {
        if (probe_router_)
            pipe.write({});
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

    int send(const core::frame& part) override { return out_.send(part); }
    int receive(core::frame& part) override { return in_.peek(part) ? 0 : EAGAIN; }
    void received() override { in_.pop(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return out_.can_send(); }
    bool can_receive() override
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        return id == ZMQ_PROBE_ROUTER ? read_flag(value, bytes, probe_router_) : EINVAL;
    }
    bool connects_once() const noexcept override { return true; }

private:
    fair_queue in_;
    load_balancer out_;
    bool probe_router_ = false;
};

} // namespace

std::unique_ptr<core::pattern> make_dealer(core::pattern_host& host)
{
    return std::make_unique<dealer>(host);
}

} // namespace zlink::sockets
