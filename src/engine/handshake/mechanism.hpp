// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/handshake/handshake_error.hpp"
#include "engine/handshake/negotiation.hpp"
#include "engine/handshake/peer.hpp"
#include "engine/wire/frame_cipher.hpp"

namespace zlink::engine {

/// How far a mechanism is.
enum class mechanism_status : std::uint8_t {
    handshaking, ///< Commands are still to be sent or received.
    waiting,     ///< For something else than a command, see mechanism::on_resumed().
    ready,       ///< All handshake commands were sent and received; traffic may follow.
};

/// A security mechanism of ZMTP 3.x: the exchange of command bodies after the greetings. One object
/// serves one connection, from its greeting on; it sees bodies only, no frame headers or sockets.
///
/// To add a mechanism, write a pair of files in `mechanisms/` that implement this interface, and
/// add a row to the mechanisms in `builtins.cpp`. One that encrypts brings a cipher for the
/// traffic.
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
    /// nothing, while there is none to send. May fill in `state.remote`. Called after the greetings
    /// and after every processed command, until it returns false.
    virtual bool next_command(negotiation& state, std::vector<std::byte>& body) = 0;

    /// Takes one received command body, which is only valid during the call. Fills in
    /// `state.remote`, and `state.peer_reason` when it returns `refused_by_peer`.
    virtual handshake_error process_command(negotiation& state,
                                            std::span<const std::byte> body) = 0;

    virtual mechanism_status status() const noexcept = 0;

    /// `resumed` is called in the I/O thread when the status is not `waiting` any more: there may
    /// be a next command, an error() or nothing more to do. Not once the object is destroyed.
    virtual void on_resumed(std::function<void()> resumed) { static_cast<void>(resumed); }
    /// The connection has ended. What the mechanism is waiting for is of no interest any more.
    virtual void connection_ended() noexcept {}
    /// Why this side gives up although the peer has made no error (it is not admitted, or there are
    /// no random bytes); `none` if it has not. next_command() may still give the ERROR command.
    virtual handshake_error error() const noexcept { return handshake_error::none; }

    /// Once ready: what encrypts the traffic; null: nothing.
    virtual std::shared_ptr<frame_cipher> make_cipher() { return nullptr; }
};

} // namespace zlink::engine
