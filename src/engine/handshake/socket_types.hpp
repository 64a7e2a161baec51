// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The socket types that speak ZMTP: their public ZMQ_* numbers, their names on the wire and who
/// may talk to whom. STREAM (raw bytes) and DGRAM (datagrams) never greet a peer and are absent.
///
/// Thread safety: pure functions over constant data.
namespace zlink::engine {

/// ZMQ_* numbers of the public header, for code below the C interface.
namespace socket_types {
inline constexpr int pair = 0;
inline constexpr int pub = 1;
inline constexpr int sub = 2;
inline constexpr int req = 3;
inline constexpr int rep = 4;
inline constexpr int dealer = 5;
inline constexpr int router = 6;
inline constexpr int pull = 7;
inline constexpr int push = 8;
inline constexpr int xpub = 9;
inline constexpr int xsub = 10;
inline constexpr int server = 12;
inline constexpr int client = 13;
inline constexpr int radio = 14;
inline constexpr int dish = 15;
inline constexpr int gather = 16;
inline constexpr int scatter = 17;
inline constexpr int dgram = 18; // no ZMTP
inline constexpr int peer = 19;
inline constexpr int channel = 20;
} // namespace socket_types

/// Value of the Socket-Type property for a ZMQ_* number; empty when the type does not speak ZMTP.
std::string_view socket_type_name(int socket_type) noexcept;

/// ZMQ_* number for a Socket-Type value (exact spelling); -1 when unknown.
int socket_type_number(std::string_view name) noexcept;

/// Whether a socket of type `local` accepts a peer of type `remote`. False for unknown types.
bool compatible_socket_types(int local, int remote) noexcept;

/// Whether this type announces its routing id in the Identity property (REQ, DEALER, ROUTER).
bool announces_routing_id(int socket_type) noexcept;

} // namespace zlink::engine
