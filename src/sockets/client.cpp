// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/balanced.hpp"
#include "sockets/policy/single_part.hpp"

#include <cerrno>

namespace zlink::sockets {
namespace {

/// Sends to its servers in turn and receives from all of them; messages have one part.
class client final : public balanced {
public:
    explicit client(core::pattern_host& host) : balanced(host) {}

    int send(const core::frame& part) override { return part.more() ? EINVAL : out_.send(part); }
    int receive(core::frame& part) override { return peek_single(in_, part) ? 0 : EAGAIN; }
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        return !more && out_.put(data, size, false);
    }
    core::taken_part take(std::size_t most) noexcept override { return take_single(in_, most); }
    bool can_receive() override
    {
        core::frame part;
        return peek_single(in_, part) != nullptr;
    }
};

} // namespace

std::unique_ptr<core::pattern> make_client(core::pattern_host& host)
{
    return std::make_unique<client>(host);
}

} // namespace zlink::sockets
