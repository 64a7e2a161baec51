// SPDX-License-Identifier: Apache-2.0
#include "sockets/pair.hpp"
#include "sockets/patterns.hpp"

namespace zlink::sockets {
namespace {

/// Exactly one peer, messages of one part; further peers are sent away.
class channel final : public pair {
public:
    using pair::pair;

    int send(const core::frame& part) override { return part.more() ? EINVAL : pair::send(part); }
    bool put(const std::byte* data, std::size_t size, bool more) noexcept override
    {
        return !more && pair::put(data, size, false);
    }

    int receive(core::frame& part) override
    {
        while (pair::receive(part) == 0) {
            if (!part.more()) [[likely]]
                return 0;
            from_->skip_message();
        }
        return EAGAIN;
    }

    core::taken_part take(std::size_t most) noexcept override
    {
        for (;;) {
            const core::taken_part part = pair::take(most);
            if (!part.more()) [[likely]]
                return part;
            from_->skip_message();
        }
    }
};

} // namespace

std::unique_ptr<core::pattern> make_channel(core::pattern_host& host)
{
    return std::make_unique<channel>(host);
}

} // namespace zlink::sockets
