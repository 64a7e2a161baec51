// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/push.hpp"

namespace zlink::sockets {
namespace {

/// Sends messages of one part to its peers in turn.
class scatter final : public push {
public:
    int send(const core::frame& part) override { return part.more() ? EINVAL : push::send(part); }
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        return !more && push::put(data, size, false);
    }
};

} // namespace

std::unique_ptr<core::pattern> make_scatter(core::pattern_host&)
{
    return std::make_unique<scatter>();
}

} // namespace zlink::sockets
