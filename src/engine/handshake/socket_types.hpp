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
enum number : int {
    pair = 0,
    pub = 1,
    sub = 2,
    req = 3,
    rep = 4,
    dealer = 5,
    router = 6,
    pull = 7,
    push = 8,
    xpub = 9,
    xsub = 10,
    server = 12,
    client = 13,
    radio = 14,
    dish = 15,
    gather = 16,
    scatter = 17,
    dgram = 18, // no ZMTP
    peer = 19,
    channel = 20,
};
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
