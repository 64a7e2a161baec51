// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/secret.hpp"
#include "core/options/socket_type_traits.hpp"
#include "engine/handshake/metadata.hpp"
#include "engine/traffic/heartbeat.hpp"
#include "transport/options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zlink::core {

/// What a socket's connections carry.
enum class wire_format : std::uint8_t {
    zmtp,
    raw,              ///< plain bytes
    raw_with_notices, ///< plain bytes; an empty message tells when the peer comes and goes
};

/// A socket of no special type.
inline constexpr socket_type_traits plain_type{};

/// Which security mechanism a socket's connections use, and its keys.
struct security_options {
    int mechanism = 0;      ///< ZMQ_NULL, ZMQ_PLAIN, ...: that of the option that was set last
    bool as_server = false; ///< this side has the peer authenticated
    std::string plain_username;
    base::secret plain_password;
    using key = std::array<std::byte, 32>;
    key curve_public_key{};
    base::secret curve_secret_key; ///< 32 bytes; empty counts as zeros
    key curve_server_key{};        ///< the public one of the server that a client wants
    std::string zap_domain;
    bool zap_enforce_domain = false;

    bool operator==(const security_options&) const = default;
};

/// The options every socket has. Endpoints work with a copy made when they are created.
struct socket_options {
    int type = -1;
    const socket_type_traits* traits = &plain_type; ///< of that type
    wire_format wire = wire_format::zmtp;           ///< the pattern's, when an endpoint is made
    std::uint64_t affinity = 0;
    std::string routing_id;
    int send_hwm = 1000;    ///< messages, 0 = no limit
    int receive_hwm = 1000; ///< messages, 0 = no limit
    int linger_ms = -1;
    int reconnect_interval_ms = 100;
    int reconnect_interval_max_ms = 0;
    std::int64_t max_message_bytes = -1;
    int receive_timeout_ms = -1;
    int send_timeout_ms = -1;
    bool immediate = false;
    bool conflate = false;
    bool invert_matching = false;
    int handshake_interval_ms = 30000;
    engine::heartbeat_settings heartbeat;
    int reconnect_stop = 0;         ///< ZMQ_RECONNECT_STOP_* bits
    int router_notify = 0;          ///< ZMQ_NOTIFY_* bits
    std::string hello_message;      ///< to every new peer; empty = none
    std::string disconnect_message; ///< from every peer that has gone; empty = none
    std::string hiccup_message;     ///< from a peer whose connection is made anew; empty = none
    std::vector<engine::property> metadata; ///< the X- properties this side announces
    int receive_batch_bytes = 8192;
    int send_batch_bytes = 8192;
    security_options security;
    int multicast_rate_kbit_s = 100; ///< kept for multicast transports, as the following
    int multicast_recovery_ms = 10000;
    int multicast_max_datagram_bytes = 1500;
    transport::options transport;

    bool operator==(const socket_options&) const = default;
};

} // namespace zlink::core
