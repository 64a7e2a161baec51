// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/balanced.hpp"

#include <cerrno>
#include <zmq.h>

namespace zlink::sockets {
namespace {

class dealer final : public balanced {
public:
    explicit dealer(core::pattern_host& host) : balanced(host) {}

    void attach(core::pipe_end& pipe) override
    {
        if (probe_router_)
            pipe.write({});
        balanced::attach(pipe);
    }

    int send(const core::frame& part) override { return out_.send(part); }
    int receive(core::frame& part) override { return in_.peek(part) ? 0 : EAGAIN; }
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        return !more && out_.put(data, size);
    }
    core::taken_part take() noexcept override { return in_.take(); }
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
    bool probe_router_ = false;
};

} // namespace

std::unique_ptr<core::pattern> make_dealer(core::pattern_host& host)
{
    return std::make_unique<dealer>(host);
}

} // namespace zlink::sockets
