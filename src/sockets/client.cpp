// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/load_balancer.hpp"
#include "sockets/policy/single_part.hpp"

#include <cerrno>

namespace zlink::sockets {
namespace {

/// Sends to its servers in turn and receives from all of them; messages have one part.
class client final : public core::pattern {
public:
    explicit client(core::pattern_host& host) : in_(host) {}

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

    int send(const core::frame& part) override { return part.more() ? EINVAL : out_.send(part); }
    int receive(core::frame& part) override { return peek_single(in_, part) ? 0 : EAGAIN; }
    void received() override { in_.pop(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return out_.can_send(); }
    bool can_receive() override
    {
        core::frame part;
        return peek_single(in_, part) != nullptr;
    }

private:
    fair_queue in_;
    load_balancer out_;
};

} // namespace

std::unique_ptr<core::pattern> make_client(core::pattern_host& host)
{
    return std::make_unique<client>(host);
}

} // namespace zlink::sockets
