// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/handshake_error.hpp"

#include <cerrno>

namespace zlink::engine {
namespace {

constexpr std::uint32_t unspecified = 0x10000000; // of ZMTP

} // namespace

failure_event event_of(handshake_error error, std::string_view peer_reason) noexcept
{
    using enum failure_event::kind;
    switch (error) {
    case handshake_error::none:
        return {};
    case handshake_error::unsupported_version:
    case handshake_error::incompatible_socket_type:
        return {protocol, unspecified};
    case handshake_error::refused_by_peer: {
        const std::uint32_t code = status_code(peer_reason);
        return code ? failure_event{failure_event::kind::denied, code}
                    : failure_event{protocol, unspecified};
    }
    case handshake_error::closed_by_peer:
        return {no_detail, EPIPE};
    case handshake_error::no_upgrade:
    case handshake_error::no_frame:
        return {protocol, 0x30000000};
    case handshake_error::no_random_bytes:
        return {no_detail, EIO};
    case handshake_error::unexpected_command:
        return {protocol, 0x10000001};
    case handshake_error::invalid_sequence:
        return {protocol, 0x10000002};
    case handshake_error::wrong_key:
        return {protocol, 0x10000003};
    case handshake_error::malformed_command:
    case handshake_error::command_too_large:
        return {protocol, 0x10000011};
    case handshake_error::malformed_message:
        return {protocol, 0x10000012};
    case handshake_error::malformed_hello:
        return {protocol, 0x10000013};
    case handshake_error::malformed_initiate:
        return {protocol, 0x10000014};
    case handshake_error::malformed_error_command:
        return {protocol, 0x10000015};
    case handshake_error::malformed_ready:
        return {protocol, 0x10000016};
    case handshake_error::malformed_welcome:
        return {protocol, 0x10000017};
    case handshake_error::invalid_metadata:
    case handshake_error::invalid_ready_metadata:
        return {protocol, 0x10000018};
    case handshake_error::not_authentic:
        return {protocol, 0x11000001};
    case handshake_error::mechanism_mismatch:
        return {protocol, 0x11000002};
    case handshake_error::denied_for_now:
        return {failure_event::kind::denied, 300};
    case handshake_error::denied:
        return {failure_event::kind::denied, 400};
    case handshake_error::authentication_failed:
        return {failure_event::kind::denied, 500};
    case handshake_error::no_authenticator:
        return {no_detail, EFAULT};
    case handshake_error::unspecified_reply:
        return {protocol, 0x20000000};
    case handshake_error::malformed_reply:
        return {protocol, 0x20000001};
    case handshake_error::wrong_reply_request_id:
        return {protocol, 0x20000002};
    case handshake_error::wrong_reply_version:
        return {protocol, 0x20000003};
    case handshake_error::invalid_reply_status:
        return {protocol, 0x20000004};
    case handshake_error::invalid_reply_metadata:
        return {protocol, 0x20000005};
    }
    return {};
}

bool is_temporary(handshake_error error) noexcept
{
    switch (error) {
    case handshake_error::invalid_sequence:
    case handshake_error::not_authentic: // on the way, or by a key that is going to be put right
    case handshake_error::malformed_message:
    case handshake_error::no_random_bytes:
    case handshake_error::closed_by_peer:
    case handshake_error::denied_for_now:
    case handshake_error::no_authenticator:
    case handshake_error::malformed_reply:
    case handshake_error::unspecified_reply:
    case handshake_error::wrong_reply_version:
    case handshake_error::wrong_reply_request_id:
    case handshake_error::invalid_reply_status:
    case handshake_error::invalid_reply_metadata:
        return true;
    default:
        return false;
    }
}

std::uint32_t status_code(std::string_view reason) noexcept
{
    return reason == "300" ? 300 : reason == "400" ? 400 : reason == "500" ? 500 : 0;
}

} // namespace zlink::engine
