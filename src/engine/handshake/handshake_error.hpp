// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace zlink::engine {

/// Why a handshake ended without success, or why the frames of a connection could not be opened.
/// Every value but `none` is final for the connection: close it. Whether its endpoint may connect
/// again is told by is_temporary().
enum class handshake_error : std::uint8_t {
    none,
    unsupported_version,     ///< The peer is older than the mechanism, or speaks something else.
    mechanism_mismatch,      ///< The peer's greeting names another security mechanism.
    malformed_command,       ///< A command body without a readable name.
    malformed_error_command, ///< An ERROR command without a readable reason.
    malformed_hello,         ///< A HELLO command of the wrong size or version.
    malformed_welcome,       ///< A WELCOME command of the wrong size.
    malformed_initiate,      ///< An INITIATE command that is too short.
    malformed_ready,         ///< A READY command that is too short.
    malformed_message,       ///< An encrypted frame that is too short.
    unexpected_command,      ///< A command that does not belong to this state of the handshake.
    invalid_sequence, ///< An encrypted frame that is not the next one after that received last.
    wrong_key,        ///< A client vouches for another connection's key than this one's.
    not_authentic,    ///< What is encrypted was damaged, or encrypted with another key.
    invalid_metadata, ///< A property list that does not parse, or an identity > 255 bytes.
    invalid_ready_metadata,   ///< The same, in the READY that a client of PLAIN or CURVE gets.
    incompatible_socket_type, ///< The peer's Socket-Type may not talk to ours.
    command_too_large,        ///< A handshake frame above the size limit.
    no_frame,                 ///< Bytes that are no frame of the transport's.
    refused_by_peer,          ///< The peer sent ERROR; see `handshake::peer_reason()`.
    closed_by_peer,           ///< The peer has said that it ends the connection.
    no_upgrade,               ///< The peer does not do what its transport begins with.
    no_random_bytes,          ///< The system gives none.

    // What became of the question whether the peer is admitted (RFC 27).
    denied_for_now,         ///< Status 300: the peer may try again.
    denied,                 ///< Status 400.
    authentication_failed,  ///< Status 500: the authenticator has failed.
    no_authenticator,       ///< There is nobody to ask, or nobody any more.
    malformed_reply,        ///< A reply with too few or too many parts.
    unspecified_reply,      ///< A reply without an empty delimiter.
    wrong_reply_version,    ///< A reply of another version of ZAP.
    wrong_reply_request_id, ///< A reply to another request.
    invalid_reply_status,   ///< A reply with a status that does not exist.
    invalid_reply_metadata, ///< A reply with metadata that does not parse.
};

/// How monitors are told that a handshake has failed.
struct failure_event {
    enum class kind : std::uint8_t {
        none,      ///< There was no error.
        no_detail, ///< ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, with an errno
        protocol,  ///< ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, with a ZMQ_PROTOCOL_ERROR_* value
        denied,    ///< ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, with a status code of ZAP
    };
    kind what = kind::none;
    std::uint32_t value = 0;
    friend bool operator==(const failure_event&, const failure_event&) = default;
};

/// The event for an error, which every one but `none` has; `peer_reason` is the reason of a
/// received ERROR command. (Under the NULL mechanism a body without a readable name has the code of
/// an unexpected command.)
///
/// Thread safety: pure function.
failure_event event_of(handshake_error error, std::string_view peer_reason = {}) noexcept;

/// May the same endpoint be tried again after this error?
bool is_temporary(handshake_error error) noexcept;

/// The status code that is the reason of an ERROR command (RFC 27: 300, 400 or 500); 0 if it is
/// none.
std::uint32_t status_code(std::string_view reason) noexcept;

} // namespace zlink::engine
