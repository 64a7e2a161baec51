// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/seldom_set.hpp"
#include "transport/tls_settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace zlink::transport {

class shared_ports;

/// A proxy to connect through.
struct socks_settings {
    /// "host:port" of a SOCKS5 proxy, perhaps after "source:port;"; empty = none.
    std::string proxy;
    std::string username;
    std::string password;

    bool operator==(const socks_settings&) const = default;
};

/// Whose pages may open a WebSocket, see websocket/origin.hpp.
struct origin_settings {
    std::string allowed; ///< a list; empty = all
    std::string own;     ///< that a request to open one names; empty = none

    bool operator==(const origin_settings&) const = default;
};

/// What a socket asks of its connections below ZMTP. -1 leaves a setting to the operating system.
struct options {
    int send_buffer_bytes = -1;
    int receive_buffer_bytes = -1;
    std::optional<int> backlog; ///< nothing = as much as the operating system allows
    int type_of_service = 0;
    int tcp_keepalive = -1;
    int tcp_keepalive_count = -1;
    int tcp_keepalive_idle_s = -1;
    int tcp_keepalive_interval_s = -1;
    int tcp_max_retransmit_ms = 0;
    int connect_timeout_ms = 0; ///< 0 = the operating system's
    int listening_fd = -1;      ///< to bind with instead of a new socket; it is taken over
    int priority = 0;           ///< SO_PRIORITY; 0 = the operating system's
    int busy_poll_us = 0;       ///< SO_BUSY_POLL; 0 = the operating system's
    std::string bind_to_device;
    seldom_set<socks_settings> socks;
    std::vector<std::string> accept_filters; ///< networks peers may come from; empty = all
    std::vector<pid_t> accepted_pids;        ///< ipc: peers that may connect; all lists empty = all
    std::vector<uid_t> accepted_uids;
    std::vector<gid_t> accepted_gids;
    seldom_set<tls_settings> tls;
    seldom_set<origin_settings> origins;
    int multicast_hops = 1;
    bool ipv6 = false;
    bool multicast_loop = true;
    bool loopback_fastpath = false; ///< kept: for another operating system
    /// With whom listeners may share a port, while they begin to listen; null: with nobody.
    shared_ports* ports = nullptr;

    bool operator==(const options&) const = default;
};

} // namespace zlink::transport
