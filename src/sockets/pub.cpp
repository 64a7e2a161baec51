// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/xpub.hpp"

#include <cerrno>

namespace zlink::sockets {
namespace {

/// Only sends; what subscribers send beside subscriptions is dropped.
class pub final : public xpub {
public:
    using xpub::xpub;

    int receive(core::frame&) override { return ENOTSUP; }
    void received() override {}
    bool can_receive() override { return false; }

protected:
    bool passes_upstream() const noexcept override { return false; }
};

} // namespace

std::unique_ptr<core::pattern> make_pub(core::pattern_host& host)
{
    return std::make_unique<pub>(host);
}

} // namespace zlink::sockets
