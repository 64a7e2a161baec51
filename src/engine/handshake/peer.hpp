// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/handshake/handshake_error.hpp"
#include "engine/handshake/metadata.hpp"

/// The two ends of a connection as the handshake sees them, and how metadata describes them to each
/// other.
///
/// Thread safety: plain data; distinct objects: safe, shared objects: unsafe.
/// Errors: values; only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine {

inline constexpr std::size_t max_routing_id_bytes = 255;
/// The name of the property that tells the type of a socket.
inline constexpr std::string_view socket_type_property = "Socket-Type";
inline constexpr std::string_view user_id_property = "User-Id";

/// What this side announces and accepts. Checked by the options layer, not again here.
struct local_peer {
    int socket_type = -1;             ///< ZMQ_* number of a type in socket_types.hpp.
    std::string routing_id;           ///< At most 255 bytes, may be empty.
    std::vector<property> properties; ///< Application (X-) properties, in any order.
    /// Refuse peers older than ZMTP 3.0, who cannot be authenticated.
    bool must_authenticate = false;
};

/// What the other side announced; complete once the handshake is done.
struct remote_peer {
    std::uint8_t major = 0; ///< Effective protocol version: 1.0, 2.0, 3.0 or 3.1 (later peers too).
    std::uint8_t minor = 0;
    /// A peer of ZMTP 1.0 that greets nobody: as a subscriber it chooses by itself among all
    /// messages, and sends no subscriptions.
    bool unversioned = false;
    int socket_type = -1;   ///< ZMQ_* number, or -1 if it announced none. Not checked before 3.0.
    std::string routing_id; ///< At most 255 bytes; empty if it announced none.
    /// Everything received but User-Id, in order; the first of a name wins. What an authenticator
    /// says of the peer comes first.
    std::vector<property> properties;
};

/// Appends this side's property list: Socket-Type, then Identity for the types that announce it,
/// then the application properties sorted by name. A property that cannot be encoded is left out.
void append_local_metadata(std::vector<std::byte>& out, const local_peer& local);

/// Reads the other side's property list into `remote` and checks it against `local`. Returns
/// `none`, `invalid_metadata` or `incompatible_socket_type`. A list
/// without Socket-Type is accepted.
handshake_error accept_remote_metadata(std::span<const std::byte> list, const local_peer& local,
                                       remote_peer& remote);

} // namespace zlink::engine
