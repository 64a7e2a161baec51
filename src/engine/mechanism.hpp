// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/handshake_error.hpp"
#include "engine/peer.hpp"

namespace zlink::engine {

/// What a handshake works from and what it finds out. Owned by `handshake`, lent to the mechanism
/// for the length of each call.
struct negotiation {
    local_peer local;
    remote_peer remote;
    std::string peer_reason; ///< Reason of a received ERROR command, at most 255 bytes.
};

/// How far a mechanism is.
enum class mechanism_status : std::uint8_t {
    handshaking, ///< Commands are still to be sent or received.
    ready,       ///< All handshake commands were sent and received; traffic may follow.
};

/// A security mechanism of ZMTP 3.x: the exchange of command bodies after the greetings. One object
/// serves one connection, from its greeting on; it sees bodies only, no frame headers or sockets.
///
/// To add a mechanism, write a pair of files in `mechanisms/` that implement this interface and
/// hand an object to the constructor of `handshake`. A mechanism that transforms traffic gains its
/// `encode` and `decode` here.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe.
/// Errors: values; only memory exhaustion throws (std::bad_alloc). After an error the object is
/// only good for destruction.
/// Lifetime: keeps none of the references it is called with.
class mechanism {
public:
    virtual ~mechanism() = default;

    /// Name in the greeting, at most 20 characters, with static lifetime.
    virtual std::string_view name() const noexcept = 0;

    /// Whether this side announces the server role in its greeting.
    virtual bool as_server() const noexcept = 0;

    /// Appends the next command body to send to `body` and returns true; returns false, appending
    /// nothing, while there is none to send. Called after the greetings and after every processed
    /// command, until it returns false.
    virtual bool next_command(const negotiation& state, std::vector<std::byte>& body) = 0;

    /// Takes one received command body, which is only valid during the call. Fills in
    /// `state.remote`, and `state.peer_reason` when it returns `refused_by_peer`.
    virtual handshake_error process_command(negotiation& state,
                                            std::span<const std::byte> body) = 0;

    virtual mechanism_status status() const noexcept = 0;
};

} // namespace zlink::engine
