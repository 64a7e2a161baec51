// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/policy/single_part.hpp"
#include "sockets/pull.hpp"

namespace zlink::sockets {
namespace {

/// Receives messages of one part from all its peers.
class gather final : public pull {
public:
    using pull::pull;

    int receive(core::frame& part) override { return peek_single(in_, part) ? 0 : EAGAIN; }
    core::taken_part take(std::size_t most) noexcept override { return take_single(in_, most); }
};

} // namespace

std::unique_ptr<core::pattern> make_gather(core::pattern_host& host)
{
    return std::make_unique<gather>(host);
}

} // namespace zlink::sockets
