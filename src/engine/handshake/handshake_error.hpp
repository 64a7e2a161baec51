// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace zlink::engine {

/// Why a handshake ended without success. Every value but `none` is final for the connection: close
/// it, and do not reconnect on its own account (a connecting endpoint gives up after these).
enum class handshake_error : std::uint8_t {
    none,
    unsupported_version,      ///< The peer is older than the mechanism, or speaks something else.
    mechanism_mismatch,       ///< The peer's greeting names another security mechanism.
    malformed_command,        ///< A command body without a readable name.
    malformed_error_command,  ///< An ERROR command without a readable reason.
    unexpected_command,       ///< A command that does not belong to this state of the handshake.
    invalid_metadata,         ///< A property list that does not parse, or an identity > 255 bytes.
    incompatible_socket_type, ///< The peer's Socket-Type may not talk to ours.
    command_too_large,        ///< A handshake frame above the size limit.
    refused_by_peer,          ///< The peer sent ERROR; see `handshake::peer_reason()`.
};

/// The ZMQ_PROTOCOL_ERROR_* value that the monitor event HANDSHAKE_FAILED_PROTOCOL carries for this
/// error, or 0 where no such event is emitted. (A body without a readable name has the code of an
/// unexpected command: under the NULL mechanism the two are one event value.)
///
/// Thread safety: pure function.
std::uint32_t protocol_error_code(handshake_error error) noexcept;

/// The status code that is the reason of an ERROR command (RFC 27: 300, 400 or 500); 0 if it is
/// none.
std::uint32_t status_code(std::string_view reason) noexcept;

} // namespace zlink::engine
