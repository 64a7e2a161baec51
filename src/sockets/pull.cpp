// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/fair_queue.hpp"

#include <cerrno>

namespace zlink::sockets {
namespace {

class pull final : public core::pattern {
public:
    explicit pull(core::pattern_host& host) : in_(host) {}

    void attach(core::pipe_end& pipe) override { in_.add(pipe); }
    void readable(core::pipe_end& pipe) override { in_.activate(pipe); }
    void detach(core::pipe_end& pipe) override { in_.remove(pipe); }

    int send(const core::frame&) override { return ENOTSUP; }
    int receive(core::frame& part) override { return in_.peek(part) ? 0 : EAGAIN; }
    void received() override { in_.pop(); }
    const core::pipe_end* source() const noexcept override { return in_.last(); }
    bool can_send() override { return false; }
    bool can_receive() override
    {
        core::frame part;
        return in_.peek(part) != nullptr;
    }

private:
    fair_queue in_;
};

} // namespace

std::unique_ptr<core::pattern> make_pull(core::pattern_host& host)
{
    return std::make_unique<pull>(host);
}

} // namespace zlink::sockets
