// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/message_rules.hpp"

#include "engine/codec/group_datagram.hpp"

namespace zlink::engine {

bool message_rules::keep(traffic_command_kind kind) const noexcept
{
    switch (kind) {
    case traffic_command_kind::subscribe:
    case traffic_command_kind::cancel:
        return keep_ == kept_commands::subscriptions;
    case traffic_command_kind::join:
    case traffic_command_kind::leave:
        return keep_ == kept_commands::groups;
    default:
        return false;
    }
}

bool message_rules::allow_part(std::uint64_t body_bytes, bool more) noexcept
{
    constexpr std::uint64_t number_bytes = 4;
    switch (envelope_) {
    case envelope::start:
        envelope_ = body_bytes == 0 ? envelope::body : envelope::after_number;
        return more && (body_bytes == 0 || body_bytes == number_bytes);
    case envelope::after_number:
        envelope_ = envelope::body;
        return more && body_bytes == 0;
    case envelope::body:
        if (!more)
            envelope_ = envelope::start;
        return true;
    case envelope::group:
        envelope_ = envelope::after_group;
        return more && body_bytes <= group_datagram::max_group_bytes;
    case envelope::after_group:
        envelope_ = envelope::group;
        return !more;
    case envelope::any:
        break;
    }
    return true;
}

} // namespace zlink::engine
