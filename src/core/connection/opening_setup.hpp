// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/mechanism_row.hpp"
#include "core/connection/opening.hpp"
#include "core/connection/transport_row.hpp"
#include "core/options/options.hpp"
#include "engine/wire/wire.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

/// What a connection begins with, as the options of its socket and its transport say: the stages of
/// its opening, then the wire and the first frame of its traffic.
///
/// Thread safety: pure functions, but for what is passed to them to be called.
/// Errors: only memory exhaustion throws (std::bad_alloc).
namespace zlink::core {

/// Does the socket speak ZMTP with its peers? If not there is no handshake.
inline bool speaks_zmtp(const socket_options& options) noexcept
{
    return options.wire == wire_format::zmtp;
}

/// Is the traffic a stream of bytes without frames? Some transports frame each chunk of such bytes.
inline bool exchanges_plain_bytes(const socket_options& options,
                                  const transport_row& transport) noexcept
{
    return !speaks_zmtp(options) && !transport.frames_plain_bytes;
}

/// Makes an authenticator that asks the handler of ZAP in this way; never called with `none`.
using authenticator_function =
    std::function<std::shared_ptr<engine::authenticator>(authentication)>;

/// Makes the mechanism that the options choose; one of `rows` has to have its number. Null if the
/// socket does not speak ZMTP.
std::unique_ptr<engine::mechanism> make_mechanism(std::span<const mechanism_row> rows,
                                                  const socket_options& options,
                                                  const authenticator_function& make_authenticator);

/// The arguments of opening for one connection.
struct opening_stages {
    transport::upgrades upgrades;
    std::unique_ptr<engine::handshake> handshake; ///< null: the peer speaks no ZMTP
    opening::frame_function frame;                ///< null: see opening

    /// Does the traffic begin at once, without an opening?
    bool empty() const noexcept { return upgrades.empty() && !handshake; }
};

/// The stages that a connection goes through: the upgrades of its transport, which are offered the
/// protocols that may follow, then the handshake. `mechanism`: null if and only if the socket does
/// not speak ZMTP. `has_connected`: this side has made the connection, the peer accepted it.
opening_stages make_stages(const socket_options& options, const transport_row& transport,
                           transport::upgrades upgrades,
                           std::unique_ptr<engine::mechanism> mechanism, bool has_connected);

/// Can PING and PONG be sent and received after this opening? ZMTP 1.0 and 2.0 have no commands,
/// unless a codec has its own frames for them.
bool carries_commands(const opening::ending& how) noexcept;

/// The wire of the traffic that follows an opening; the message filter is not part of it.
engine::wire make_wire(const opening::ending& how, bool plain_bytes);

/// The frame that goes ahead of all others on each new connection, with ZMQ_HELLO_MSG, in the
/// format of a queue. Empty if there is none.
std::vector<std::byte> hello_frame(const socket_options& options);

} // namespace zlink::core
