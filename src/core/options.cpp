// SPDX-License-Identifier: Apache-2.0
#include "core/options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <zmq.h>

namespace zlink::core {
namespace {

struct int_row {
    int id;
    int least;
    int most;
    int& (*field)(socket_options&);
};

struct bool_row {
    int id;
    bool strict; ///< only 0 and 1 are allowed
    bool& (*field)(socket_options&);
};

#define ZLINK_FIELD(type, path) [](socket_options& o) -> type& { return o.path; }

// The wire has 16 bits for tenths of a second; what is given is rounded down to them.
constexpr int heartbeat_ttl_unit_ms = 100;
constexpr int max_heartbeat_ttl_ms = 0xffff * heartbeat_ttl_unit_ms + heartbeat_ttl_unit_ms - 1;

constexpr std::array int_rows{
    int_row{ZMQ_SNDHWM, 0, INT_MAX, ZLINK_FIELD(int, send_hwm)},
    int_row{ZMQ_RCVHWM, 0, INT_MAX, ZLINK_FIELD(int, receive_hwm)},
    int_row{ZMQ_LINGER, -1, INT_MAX, ZLINK_FIELD(int, linger_ms)},
    int_row{ZMQ_RECONNECT_IVL, -1, INT_MAX, ZLINK_FIELD(int, reconnect_interval_ms)},
    int_row{ZMQ_RECONNECT_IVL_MAX, 0, INT_MAX, ZLINK_FIELD(int, reconnect_interval_max_ms)},
    int_row{ZMQ_RCVTIMEO, -1, INT_MAX, ZLINK_FIELD(int, receive_timeout_ms)},
    int_row{ZMQ_SNDTIMEO, -1, INT_MAX, ZLINK_FIELD(int, send_timeout_ms)},
    int_row{ZMQ_HANDSHAKE_IVL, 0, INT_MAX, ZLINK_FIELD(int, handshake_interval_ms)},
    int_row{ZMQ_SNDBUF, -1, INT_MAX, ZLINK_FIELD(int, transport.send_buffer_bytes)},
    int_row{ZMQ_RCVBUF, -1, INT_MAX, ZLINK_FIELD(int, transport.receive_buffer_bytes)},
    int_row{ZMQ_BACKLOG, 0, INT_MAX, ZLINK_FIELD(int, transport.backlog)},
    int_row{ZMQ_TOS, 0, INT_MAX, ZLINK_FIELD(int, transport.type_of_service)},
    int_row{ZMQ_CONNECT_TIMEOUT, 0, INT_MAX, ZLINK_FIELD(int, transport.connect_timeout_ms)},
    int_row{ZMQ_TCP_MAXRT, 0, INT_MAX, ZLINK_FIELD(int, transport.tcp_max_retransmit_ms)},
    int_row{ZMQ_TCP_KEEPALIVE, -1, 1, ZLINK_FIELD(int, transport.tcp_keepalive)},
    int_row{ZMQ_TCP_KEEPALIVE_CNT, -1, INT_MAX, ZLINK_FIELD(int, transport.tcp_keepalive_count)},
    int_row{ZMQ_TCP_KEEPALIVE_IDLE, -1, INT_MAX, ZLINK_FIELD(int, transport.tcp_keepalive_idle_s)},
    int_row{ZMQ_TCP_KEEPALIVE_INTVL, -1, INT_MAX,
            ZLINK_FIELD(int, transport.tcp_keepalive_interval_s)},
    int_row{ZMQ_HEARTBEAT_IVL, 0, INT_MAX, ZLINK_FIELD(int, heartbeat.interval_ms)},
    int_row{ZMQ_HEARTBEAT_TIMEOUT, 0, INT_MAX, ZLINK_FIELD(int, heartbeat.timeout_ms)},
    int_row{ZMQ_HEARTBEAT_TTL, 0, max_heartbeat_ttl_ms, ZLINK_FIELD(int, heartbeat.ttl_ms)},
    int_row{ZMQ_USE_FD, -1, INT_MAX, ZLINK_FIELD(int, transport.listening_fd)},
    int_row{ZMQ_RATE, 1, INT_MAX, ZLINK_FIELD(int, multicast_rate_kbit_s)},
    int_row{ZMQ_RECOVERY_IVL, 0, INT_MAX, ZLINK_FIELD(int, multicast_recovery_ms)},
    int_row{ZMQ_MULTICAST_HOPS, 1, INT_MAX, ZLINK_FIELD(int, multicast_hops)},
    int_row{ZMQ_MULTICAST_MAXTPDU, 1, INT_MAX, ZLINK_FIELD(int, multicast_max_datagram_bytes)},
};

constexpr std::array bool_rows{
    bool_row{ZMQ_IMMEDIATE, true, ZLINK_FIELD(bool, immediate)},
    bool_row{ZMQ_CONFLATE, true, ZLINK_FIELD(bool, conflate)},
    bool_row{ZMQ_INVERT_MATCHING, false, ZLINK_FIELD(bool, invert_matching)},
    bool_row{ZMQ_IPV6, true, ZLINK_FIELD(bool, transport.ipv6)},
};

#undef ZLINK_FIELD

// Known options whose feature is not built.
constexpr std::array later_options{ZMQ_TCP_ACCEPT_FILTER, ZMQ_IPC_FILTER_PID,  ZMQ_IPC_FILTER_UID,
                                   ZMQ_IPC_FILTER_GID,    ZMQ_PLAIN_SERVER,    ZMQ_PLAIN_USERNAME,
                                   ZMQ_PLAIN_PASSWORD,    ZMQ_CURVE_SERVER,    ZMQ_CURVE_PUBLICKEY,
                                   ZMQ_CURVE_SECRETKEY,   ZMQ_CURVE_SERVERKEY, ZMQ_ZAP_DOMAIN,
                                   ZMQ_SOCKS_PROXY};

} // namespace

int read_int(const void* value, std::size_t bytes, int& out) noexcept
{
    if (bytes != sizeof out || !value)
        return EINVAL;
    std::memcpy(&out, value, sizeof out);
    return 0;
}

int write_int(int from, void* value, std::size_t* bytes) noexcept
{
    if (*bytes < sizeof from)
        return EINVAL;
    std::memset(value, 0, *bytes);
    std::memcpy(value, &from, sizeof from);
    *bytes = sizeof from;
    return 0;
}

int write_text(const std::string& from, void* value, std::size_t* bytes) noexcept
{
    if (*bytes < from.size() + 1)
        return EINVAL;
    std::memset(value, 0, *bytes);
    std::memcpy(value, from.data(), from.size());
    *bytes = from.size() + 1;
    return 0;
}

int set_option(socket_options& options, int id, const void* value, std::size_t bytes)
{
    if (std::ranges::find(later_options, id) != later_options.end())
        return ENOTSUP;
    int number = 0;
    switch (id) {
    case ZMQ_AFFINITY:
        if (bytes != sizeof options.affinity || !value)
            return EINVAL;
        std::memcpy(&options.affinity, value, bytes);
        return 0;
    case ZMQ_ROUTING_ID:
        if (bytes == 0 || bytes > 255 || !value)
            return EINVAL;
        options.routing_id.assign(static_cast<const char*>(value), bytes);
        return 0;
    case ZMQ_MAXMSGSIZE:
        if (bytes != sizeof options.max_message_bytes || !value)
            return EINVAL;
        std::memcpy(&options.max_message_bytes, value, bytes);
        return 0;
    case ZMQ_IPV4ONLY:
        if (read_int(value, bytes, number) != 0 || (number != 0 && number != 1))
            return EINVAL;
        options.transport.ipv6 = number == 0;
        return 0;
    case ZMQ_BINDTODEVICE:
        if (bytes > 16 || (bytes != 0 && !value) || (bytes == 0 && value))
            return EINVAL;
        options.transport.bind_to_device.assign(static_cast<const char*>(value), bytes);
        return 0;
    default:
        break;
    }
    if (const auto row = std::ranges::find(int_rows, id, &int_row::id); row != int_rows.end()) {
        if (read_int(value, bytes, number) != 0 || number < row->least || number > row->most)
            return EINVAL;
        row->field(options) =
            id == ZMQ_HEARTBEAT_TTL ? number - number % heartbeat_ttl_unit_ms : number;
        return 0;
    }
    if (const auto row = std::ranges::find(bool_rows, id, &bool_row::id); row != bool_rows.end()) {
        if (read_int(value, bytes, number) != 0 || (row->strict && number != 0 && number != 1))
            return EINVAL;
        row->field(options) = number != 0;
        return 0;
    }
    return EINVAL;
}

int get_option(const socket_options& options, int id, void* value, std::size_t* bytes)
{
    if (std::ranges::find(later_options, id) != later_options.end())
        return ENOTSUP;
    auto& fields = const_cast<socket_options&>(options);
    const auto exact = [&](const auto& field) {
        if (*bytes != sizeof field)
            return EINVAL;
        std::memcpy(value, &field, sizeof field);
        return 0;
    };
    switch (id) {
    case ZMQ_AFFINITY:
        return exact(options.affinity);
    case ZMQ_MAXMSGSIZE:
        return exact(options.max_message_bytes);
    case ZMQ_TYPE:
        return exact(options.type);
    case ZMQ_MECHANISM:
        return exact(int{ZMQ_NULL});
    case ZMQ_IPV4ONLY:
        return exact(options.transport.ipv6 ? 0 : 1);
    case ZMQ_ROUTING_ID:
        if (*bytes < options.routing_id.size())
            return EINVAL;
        std::memset(value, 0, *bytes);
        std::memcpy(value, options.routing_id.data(), options.routing_id.size());
        *bytes = options.routing_id.size();
        return 0;
    case ZMQ_BINDTODEVICE:
        return write_text(options.transport.bind_to_device, value, bytes);
    case ZMQ_THREAD_SAFE:
        return write_int(0, value, bytes);
    default:
        break;
    }
    if (const auto row = std::ranges::find(int_rows, id, &int_row::id); row != int_rows.end())
        return exact(row->field(fields));
    if (const auto row = std::ranges::find(bool_rows, id, &bool_row::id); row != bool_rows.end())
        return exact(row->field(fields) ? 1 : 0);
    return EINVAL;
}

} // namespace zlink::core
