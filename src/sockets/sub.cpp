// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"
#include "sockets/xsub.hpp"

#include <cerrno>
#include <zmq.h>

namespace zlink::sockets {
namespace {

/// Subscribes by options, only receives.
class sub final : public xsub {
public:
    explicit sub(core::pattern_host& host) : xsub(host, true) {}

    int send(const core::frame&) override { return ENOTSUP; }
    bool can_send() override { return false; }

    int set_option(int id, const void* value, std::size_t bytes) override
    {
        if (id != ZMQ_SUBSCRIBE && id != ZMQ_UNSUBSCRIBE)
            return EINVAL;
        if (bytes && !value)
            return EINVAL;
        const std::span<const std::byte> topic(static_cast<const std::byte*>(value), bytes);
        if (id == ZMQ_SUBSCRIBE)
            subscribe(topic);
        else
            unsubscribe(topic);
        return 0;
    }
};

} // namespace

std::unique_ptr<core::pattern> make_sub(core::pattern_host& host)
{
    return std::make_unique<sub>(host);
}

} // namespace zlink::sockets
