// SPDX-License-Identifier: Apache-2.0
#include "sockets/pair.hpp"
#include "sockets/patterns.hpp"
#include "sockets/policy/discard_bound.hpp"

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

    void detach(core::pipe_end& pipe) override
    {
        if (from_ == &pipe)
            skipping_ = false;
        pair::detach(pipe);
    }

    int receive(core::frame& part) override
    {
        discard_bound bound;
        if (skipping_ && !skip_message(bound))
            return EAGAIN;
        while (pair::receive(part) == 0) {
            if (!part.more()) [[likely]]
                return 0;
            if (!skip_message(bound))
                break;
        }
        return EAGAIN;
    }

    core::taken_part take(std::size_t most) noexcept override
    {
        if (skipping_) [[unlikely]]
            return {};
        discard_bound bound;
        for (;;) {
            const core::taken_part part = pair::take(most);
            if (!part.more()) [[likely]]
                return part;
            if (!skip_message(bound))
                return {};
        }
    }
    core::pipe_end* only_source() noexcept override
    {
        return skipping_ ? nullptr : pair::only_source();
    }

private:
    // False if the call has to end: what is left is dropped later.
    bool skip_message(discard_bound& bound) noexcept
    {
        skipping_ = !from_->in.skip_message(bound.remaining_parts);
        if (bound.remaining_parts != 0)
            return true;
        from_->notify(core::pipe_end::readable);
        return false;
    }

    bool skipping_ = false; ///< in the middle of a message of several parts
};

} // namespace

std::unique_ptr<core::pattern> make_channel(core::pattern_host& host)
{
    return std::make_unique<channel>(host);
}

} // namespace zlink::sockets
