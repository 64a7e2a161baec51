// SPDX-License-Identifier: Apache-2.0
#include "core/options/option_table.hpp"

#include "core/options/option_kinds.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "transport/websocket/origin.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <variant>
#include <zmq.h>

namespace zlink::core {
namespace {

using namespace option;

enum access : std::uint8_t { none = 0, settable = 1, readable = 2, both = settable | readable };
// Without CURVE its options do not exist.
constexpr access with_curve = ZLINK_HAS_CURVE ? both : none;
constexpr access with_tls = ZLINK_HAS_TLS ? both : none;
constexpr access write_only_with_tls = ZLINK_HAS_TLS ? settable : none;

// Socket types as bits.
using types = std::uint32_t;
constexpr types every_type = ~types{0};

template <class... Types>
constexpr types of_types(Types... numbers)
{
    return (... | (types{1} << numbers));
}

/// One option. Its default is what a new `socket_options` has.
struct option_row {
    int id;
    access allowed;
    std::variant<integer, optional_integer, number<std::int64_t>, number<std::uint64_t>, flag, text,
                 blob, ids<pid_t>, ids<uid_t>, networks, properties, computed, server_role,
                 client_text<std::string>, client_text<base::secret>,
                 curve_key<security_options::key>, curve_key<base::secret>>
        kind;
    types settable_on = every_type;
};

#define ZLINK_AT_SELDOM(settings, name)                                                            \
    [](socket_options& o) -> decltype((o.transport.settings.edit().name)) {                        \
        return o.transport.settings.edit().name;                                                   \
    }
#define ZLINK_AT_TLS(name) ZLINK_AT_SELDOM(tls, name)
#define ZLINK_AT(path) [](socket_options& o) -> decltype((o.path)) { return o.path; }

// The wire has 16 bits for tenths of a second; what is given is rounded down to them.
constexpr int max_heartbeat_ttl_ms = engine::max_ping_ttl_ms + engine::ttl_unit_ms - 1;

// OpenSSL would take a name that begins with a dot for any name that ends so.
bool is_host_name(std::string_view name)
{
    return !name.starts_with('.');
}

constexpr std::array rows{
    // The socket itself.
    option_row{ZMQ_TYPE, readable, integer{ZLINK_AT(type)}},
    option_row{ZMQ_THREAD_SAFE, readable,
               computed{[](const socket_options& o) { return int(o.traits->thread_safe); }, true}},
    option_row{ZMQ_AFFINITY, both, number<std::uint64_t>{ZLINK_AT(affinity)}},
    option_row{ZMQ_ROUTING_ID, both, blob{ZLINK_AT(routing_id), 1, 255}},
    option_row{ZMQ_SNDHWM, both, integer{ZLINK_AT(send_hwm), 0}},
    option_row{ZMQ_RCVHWM, both, integer{ZLINK_AT(receive_hwm), 0}},
    option_row{ZMQ_LINGER, both, integer{ZLINK_AT(linger_ms), -1}},
    option_row{ZMQ_RCVTIMEO, both, integer{ZLINK_AT(receive_timeout_ms), -1}},
    option_row{ZMQ_SNDTIMEO, both, integer{ZLINK_AT(send_timeout_ms), -1}},
    option_row{ZMQ_IMMEDIATE, both, flag{ZLINK_AT(immediate)}},
    option_row{ZMQ_CONFLATE, both, flag{ZLINK_AT(conflate)}},
    option_row{ZMQ_INVERT_MATCHING, both, flag{ZLINK_AT(invert_matching), truth::any_int}},
    option_row{ZMQ_ROUTER_NOTIFY, both, integer{ZLINK_AT(router_notify), 0, 3},
               of_types(ZMQ_ROUTER, ZMQ_REP)},
    option_row{ZMQ_HELLO_MSG, settable, blob{ZLINK_AT(hello_message)}},
    option_row{ZMQ_DISCONNECT_MSG, settable, blob{ZLINK_AT(disconnect_message)}},
    option_row{ZMQ_HICCUP_MSG, settable, blob{ZLINK_AT(hiccup_message)}},

    // Connections and their protocol.
    option_row{ZMQ_RECONNECT_IVL, both, integer{ZLINK_AT(reconnect_interval_ms), -1}},
    option_row{ZMQ_RECONNECT_IVL_MAX, both, integer{ZLINK_AT(reconnect_interval_max_ms), 0}},
    option_row{ZMQ_RECONNECT_STOP, both, integer{ZLINK_AT(reconnect_stop)}},
    option_row{ZMQ_HANDSHAKE_IVL, both, integer{ZLINK_AT(handshake_interval_ms), 0}},
    option_row{ZMQ_MAXMSGSIZE, both, number<std::int64_t>{ZLINK_AT(max_message_bytes)}},
    option_row{ZMQ_HEARTBEAT_IVL, both, integer{ZLINK_AT(heartbeat.interval_ms), 0}},
    option_row{ZMQ_HEARTBEAT_TIMEOUT, both, integer{ZLINK_AT(heartbeat.timeout_ms), 0}},
    option_row{ZMQ_HEARTBEAT_TTL, both,
               integer{ZLINK_AT(heartbeat.ttl_ms), 0, max_heartbeat_ttl_ms, engine::ttl_unit_ms}},
    option_row{ZMQ_METADATA, settable, properties{ZLINK_AT(metadata)}},
    option_row{ZMQ_IN_BATCH_SIZE, both, integer{ZLINK_AT(receive_batch_bytes), 1}},
    option_row{ZMQ_OUT_BATCH_SIZE, both, integer{ZLINK_AT(send_batch_bytes), 1}},

    // Security. GSSAPI is not built: no such options.
    option_row{ZMQ_MECHANISM, readable, integer{ZLINK_AT(security.mechanism)}},
    option_row{ZMQ_PLAIN_SERVER, both, server_role{ZMQ_PLAIN}},
    option_row{ZMQ_PLAIN_USERNAME, both,
               client_text<std::string>{ZMQ_PLAIN, ZLINK_AT(security.plain_username), 255}},
    option_row{ZMQ_PLAIN_PASSWORD, both,
               client_text<base::secret>{ZMQ_PLAIN, ZLINK_AT(security.plain_password), 255}},
    option_row{ZMQ_CURVE_SERVER, with_curve, server_role{ZMQ_CURVE}},
    option_row{ZMQ_CURVE_PUBLICKEY, with_curve,
               curve_key<security_options::key>{ZLINK_AT(security.curve_public_key)}},
    option_row{ZMQ_CURVE_SECRETKEY, with_curve,
               curve_key<base::secret>{ZLINK_AT(security.curve_secret_key)}},
    option_row{ZMQ_CURVE_SERVERKEY, with_curve,
               curve_key<security_options::key>{ZLINK_AT(security.curve_server_key), true}},
    option_row{ZMQ_ZAP_DOMAIN, both, text{ZLINK_AT(security.zap_domain), 255}},
    option_row{ZMQ_ZAP_ENFORCE_DOMAIN, both,
               flag{ZLINK_AT(security.zap_enforce_domain), truth::any_int}},

    // Transports.
    option_row{ZMQ_SNDBUF, both, integer{ZLINK_AT(transport.send_buffer_bytes), -1}},
    option_row{ZMQ_RCVBUF, both, integer{ZLINK_AT(transport.receive_buffer_bytes), -1}},
    option_row{ZMQ_BACKLOG, both, optional_integer{ZLINK_AT(transport.backlog), 100, 0}},
    option_row{ZMQ_USE_FD, both, integer{ZLINK_AT(transport.listening_fd), -1}},
    option_row{ZMQ_CONNECT_TIMEOUT, both, integer{ZLINK_AT(transport.connect_timeout_ms), 0}},
    option_row{ZMQ_IPV6, both, flag{ZLINK_AT(transport.ipv6)}},
    option_row{ZMQ_IPV4ONLY, both, flag{ZLINK_AT(transport.ipv6), truth::zero_or_one, true}},
    option_row{ZMQ_TOS, both, integer{ZLINK_AT(transport.type_of_service), 0}},
    option_row{ZMQ_PRIORITY, both, integer{ZLINK_AT(transport.priority), 0}},
    option_row{ZMQ_BUSY_POLL, settable, integer{ZLINK_AT(transport.busy_poll_us)}},
    option_row{ZMQ_LOOPBACK_FASTPATH, both,
               flag{ZLINK_AT(transport.loopback_fastpath), truth::any_int}},
    option_row{ZMQ_BINDTODEVICE, both,
               text{ZLINK_AT(transport.bind_to_device), 16, emptied::by_null}},
    option_row{ZMQ_TCP_MAXRT, both, integer{ZLINK_AT(transport.tcp_max_retransmit_ms), 0}},
    option_row{ZMQ_TCP_KEEPALIVE, both, integer{ZLINK_AT(transport.tcp_keepalive), -1, 1}},
    option_row{ZMQ_TCP_KEEPALIVE_CNT, both, integer{ZLINK_AT(transport.tcp_keepalive_count), -1}},
    option_row{ZMQ_TCP_KEEPALIVE_IDLE, both, integer{ZLINK_AT(transport.tcp_keepalive_idle_s), -1}},
    option_row{ZMQ_TCP_KEEPALIVE_INTVL, both,
               integer{ZLINK_AT(transport.tcp_keepalive_interval_s), -1}},
    option_row{ZMQ_SOCKS_PROXY, both,
               text{ZLINK_AT_SELDOM(socks, proxy), SIZE_MAX, emptied::by_null}},
    option_row{ZMQ_SOCKS_USERNAME, both,
               text{ZLINK_AT_SELDOM(socks, username), 255, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_SOCKS_PASSWORD, both,
               text{ZLINK_AT_SELDOM(socks, password), 255, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_TLS_CERT, with_tls,
               text{ZLINK_AT_TLS(certificate), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_TLS_KEY, write_only_with_tls,
               text{ZLINK_AT_TLS(key), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_TLS_CA, with_tls,
               text{ZLINK_AT_TLS(ca), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_TLS_VERIFY, with_tls, flag{ZLINK_AT_TLS(verify)}},
    option_row{ZMQ_TLS_REQUIRE_CLIENT_CERT, with_tls,
               integer{ZLINK_AT_TLS(client_certificate), 0, 2}},
    option_row{ZMQ_TLS_HOSTNAME, with_tls,
               text{ZLINK_AT_TLS(host), 255, emptied::by_null_or_no_bytes, is_host_name}},
    option_row{ZMQ_TLS_TRUST_SYSTEM, with_tls, flag{ZLINK_AT_TLS(trust_system)}},
    option_row{ZMQ_TLS_PASSWORD, write_only_with_tls,
               text{ZLINK_AT_TLS(password), 255, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_TLS_MIN_VERSION, with_tls,
               integer{ZLINK_AT_TLS(min_version), ZMQ_TLS_1_2, ZMQ_TLS_1_3}},
    option_row{ZMQ_TLS_CIPHERS, with_tls,
               text{ZLINK_AT_TLS(ciphers), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_TLS_PINNED, with_tls,
               text{ZLINK_AT_TLS(pinned), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_WS_ALLOWED_ORIGINS, both,
               text{ZLINK_AT_SELDOM(origins, allowed), SIZE_MAX, emptied::by_null_or_no_bytes,
                    transport::websocket::is_origin_list}},
    option_row{ZMQ_WS_ORIGIN, both,
               text{ZLINK_AT_SELDOM(origins, own), transport::websocket::most_origin_bytes,
                    emptied::by_null_or_no_bytes, transport::websocket::is_origin}},
    // The same by libzmq's names for wss, which bindings know.
    option_row{ZMQ_WSS_CERT_PEM, write_only_with_tls,
               text{ZLINK_AT_TLS(certificate), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_WSS_KEY_PEM, write_only_with_tls,
               text{ZLINK_AT_TLS(key), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_WSS_TRUST_PEM, write_only_with_tls,
               text{ZLINK_AT_TLS(ca), SIZE_MAX, emptied::by_null_or_no_bytes}},
    option_row{ZMQ_WSS_HOSTNAME, write_only_with_tls,
               text{ZLINK_AT_TLS(host), 255, emptied::by_null_or_no_bytes, is_host_name}},
    option_row{ZMQ_WSS_TRUST_SYSTEM, write_only_with_tls, flag{ZLINK_AT_TLS(trust_system)}},
    option_row{ZMQ_TCP_ACCEPT_FILTER, settable, networks{ZLINK_AT(transport.accept_filters)}},
    option_row{ZMQ_IPC_FILTER_PID, settable, ids<pid_t>{ZLINK_AT(transport.accepted_pids)}},
    option_row{ZMQ_IPC_FILTER_UID, settable, ids<uid_t>{ZLINK_AT(transport.accepted_uids)}},
    option_row{ZMQ_IPC_FILTER_GID, settable, ids<gid_t>{ZLINK_AT(transport.accepted_gids)}},
    option_row{ZMQ_MULTICAST_HOPS, both, integer{ZLINK_AT(transport.multicast_hops), 1}},
    option_row{ZMQ_MULTICAST_LOOP, both, flag{ZLINK_AT(transport.multicast_loop), truth::any_int}},
    option_row{ZMQ_RATE, both, integer{ZLINK_AT(multicast_rate_kbit_s), 1}},
    option_row{ZMQ_RECOVERY_IVL, both, integer{ZLINK_AT(multicast_recovery_ms), 0}},
    option_row{ZMQ_MULTICAST_MAXTPDU, both, integer{ZLINK_AT(multicast_max_datagram_bytes), 1}},
};

#undef ZLINK_AT

const option_row* find_row(int id, access wanted)
{
    const auto row = std::ranges::find(rows, id, &option_row::id);
    return row != rows.end() && (row->allowed & wanted) ? &*row : nullptr;
}

} // namespace

int set_option(socket_options& options, int id, const void* value, std::size_t bytes)
{
    const option_row* const row = find_row(id, settable);
    if (!row || !((row->settable_on >> options.type) & 1))
        return EINVAL;
    return std::visit([&](const auto& kind) { return kind.set(options, value, bytes); }, row->kind);
}

int get_option(const socket_options& options, int id, void* value, std::size_t* bytes)
{
    const option_row* const row = find_row(id, readable);
    if (!row)
        return EINVAL;
    return std::visit([&](const auto& kind) { return kind.get(options, value, bytes); }, row->kind);
}

} // namespace zlink::core
