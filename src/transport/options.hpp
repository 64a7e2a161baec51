// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace zlink::transport {

/// What a socket asks of its connections below ZMTP. -1 leaves a setting to the operating system.
struct options {
    int send_buffer_bytes = -1;
    int receive_buffer_bytes = -1;
    int backlog = 100;
    int type_of_service = 0;
    int tcp_keepalive = -1;
    int tcp_keepalive_count = -1;
    int tcp_keepalive_idle_s = -1;
    int tcp_keepalive_interval_s = -1;
    int tcp_max_retransmit_ms = 0;
    int connect_timeout_ms = 0; ///< 0 = the operating system's
    int listening_fd = -1;      ///< to bind with instead of a new socket; it is taken over
    bool ipv6 = false;
    std::string bind_to_device;
};

} // namespace zlink::transport
