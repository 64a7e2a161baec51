// SPDX-License-Identifier: Apache-2.0
// The public header against literal values: what compiled programs and bindings have built in.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include <zmq.h>
#include <zmq_utils.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace {

TEST(header_constants, socket_types)
{
    EXPECT_EQ(ZMQ_PAIR, 0);
    EXPECT_EQ(ZMQ_PUB, 1);
    EXPECT_EQ(ZMQ_SUB, 2);
    EXPECT_EQ(ZMQ_REQ, 3);
    EXPECT_EQ(ZMQ_REP, 4);
    EXPECT_EQ(ZMQ_DEALER, 5);
    EXPECT_EQ(ZMQ_XREQ, 5);
    EXPECT_EQ(ZMQ_ROUTER, 6);
    EXPECT_EQ(ZMQ_XREP, 6);
    EXPECT_EQ(ZMQ_PULL, 7);
    EXPECT_EQ(ZMQ_PUSH, 8);
    EXPECT_EQ(ZMQ_XPUB, 9);
    EXPECT_EQ(ZMQ_XSUB, 10);
    EXPECT_EQ(ZMQ_STREAM, 11);
    EXPECT_EQ(ZMQ_SERVER, 12);
    EXPECT_EQ(ZMQ_CLIENT, 13);
    EXPECT_EQ(ZMQ_RADIO, 14);
    EXPECT_EQ(ZMQ_DISH, 15);
    EXPECT_EQ(ZMQ_GATHER, 16);
    EXPECT_EQ(ZMQ_SCATTER, 17);
    EXPECT_EQ(ZMQ_DGRAM, 18);
    EXPECT_EQ(ZMQ_PEER, 19);
    EXPECT_EQ(ZMQ_CHANNEL, 20);
}

TEST(header_constants, context_options)
{
    EXPECT_EQ(ZMQ_IO_THREADS, 1);
    EXPECT_EQ(ZMQ_MAX_SOCKETS, 2);
    EXPECT_EQ(ZMQ_SOCKET_LIMIT, 3);
    EXPECT_EQ(ZMQ_THREAD_PRIORITY, 3);
    EXPECT_EQ(ZMQ_THREAD_SCHED_POLICY, 4);
    EXPECT_EQ(ZMQ_MAX_MSGSZ, 5);
    EXPECT_EQ(ZMQ_MSG_T_SIZE, 6);
    EXPECT_EQ(ZMQ_THREAD_AFFINITY_CPU_ADD, 7);
    EXPECT_EQ(ZMQ_THREAD_AFFINITY_CPU_REMOVE, 8);
    EXPECT_EQ(ZMQ_THREAD_NAME_PREFIX, 9);
    EXPECT_EQ(ZMQ_ZERO_COPY_RECV, 10);
    EXPECT_EQ(ZMQ_IPV6, 42);
    EXPECT_EQ(ZMQ_BLOCKY, 70);
    EXPECT_EQ(ZMQ_IO_THREADS_DFLT, 1);
    EXPECT_EQ(ZMQ_MAX_SOCKETS_DFLT, 1023);
    EXPECT_EQ(ZMQ_THREAD_PRIORITY_DFLT, -1);
    EXPECT_EQ(ZMQ_THREAD_SCHED_POLICY_DFLT, -1);
}

TEST(header_constants, socket_options)
{
    EXPECT_EQ(ZMQ_AFFINITY, 4);
    EXPECT_EQ(ZMQ_ROUTING_ID, 5);
    EXPECT_EQ(ZMQ_SUBSCRIBE, 6);
    EXPECT_EQ(ZMQ_UNSUBSCRIBE, 7);
    EXPECT_EQ(ZMQ_RATE, 8);
    EXPECT_EQ(ZMQ_RECOVERY_IVL, 9);
    EXPECT_EQ(ZMQ_SNDBUF, 11);
    EXPECT_EQ(ZMQ_RCVBUF, 12);
    EXPECT_EQ(ZMQ_RCVMORE, 13);
    EXPECT_EQ(ZMQ_FD, 14);
    EXPECT_EQ(ZMQ_EVENTS, 15);
    EXPECT_EQ(ZMQ_TYPE, 16);
    EXPECT_EQ(ZMQ_LINGER, 17);
    EXPECT_EQ(ZMQ_RECONNECT_IVL, 18);
    EXPECT_EQ(ZMQ_BACKLOG, 19);
    EXPECT_EQ(ZMQ_RECONNECT_IVL_MAX, 21);
    EXPECT_EQ(ZMQ_MAXMSGSIZE, 22);
    EXPECT_EQ(ZMQ_SNDHWM, 23);
    EXPECT_EQ(ZMQ_RCVHWM, 24);
    EXPECT_EQ(ZMQ_MULTICAST_HOPS, 25);
    EXPECT_EQ(ZMQ_RCVTIMEO, 27);
    EXPECT_EQ(ZMQ_SNDTIMEO, 28);
    EXPECT_EQ(ZMQ_LAST_ENDPOINT, 32);
    EXPECT_EQ(ZMQ_ROUTER_MANDATORY, 33);
    EXPECT_EQ(ZMQ_TCP_KEEPALIVE, 34);
    EXPECT_EQ(ZMQ_TCP_KEEPALIVE_CNT, 35);
    EXPECT_EQ(ZMQ_TCP_KEEPALIVE_IDLE, 36);
    EXPECT_EQ(ZMQ_TCP_KEEPALIVE_INTVL, 37);
    EXPECT_EQ(ZMQ_IMMEDIATE, 39);
    EXPECT_EQ(ZMQ_XPUB_VERBOSE, 40);
    EXPECT_EQ(ZMQ_ROUTER_RAW, 41);
    EXPECT_EQ(ZMQ_MECHANISM, 43);
    EXPECT_EQ(ZMQ_PLAIN_SERVER, 44);
    EXPECT_EQ(ZMQ_PLAIN_USERNAME, 45);
    EXPECT_EQ(ZMQ_PLAIN_PASSWORD, 46);
    EXPECT_EQ(ZMQ_CURVE_SERVER, 47);
    EXPECT_EQ(ZMQ_CURVE_PUBLICKEY, 48);
    EXPECT_EQ(ZMQ_CURVE_SECRETKEY, 49);
    EXPECT_EQ(ZMQ_CURVE_SERVERKEY, 50);
    EXPECT_EQ(ZMQ_PROBE_ROUTER, 51);
    EXPECT_EQ(ZMQ_REQ_CORRELATE, 52);
    EXPECT_EQ(ZMQ_REQ_RELAXED, 53);
    EXPECT_EQ(ZMQ_CONFLATE, 54);
    EXPECT_EQ(ZMQ_ZAP_DOMAIN, 55);
    EXPECT_EQ(ZMQ_ROUTER_HANDOVER, 56);
    EXPECT_EQ(ZMQ_TOS, 57);
    EXPECT_EQ(ZMQ_CONNECT_ROUTING_ID, 61);
    EXPECT_EQ(ZMQ_GSSAPI_SERVER, 62);
    EXPECT_EQ(ZMQ_GSSAPI_PRINCIPAL, 63);
    EXPECT_EQ(ZMQ_GSSAPI_SERVICE_PRINCIPAL, 64);
    EXPECT_EQ(ZMQ_GSSAPI_PLAINTEXT, 65);
    EXPECT_EQ(ZMQ_HANDSHAKE_IVL, 66);
    EXPECT_EQ(ZMQ_SOCKS_PROXY, 68);
    EXPECT_EQ(ZMQ_XPUB_NODROP, 69);
    EXPECT_EQ(ZMQ_XPUB_MANUAL, 71);
    EXPECT_EQ(ZMQ_XPUB_WELCOME_MSG, 72);
    EXPECT_EQ(ZMQ_STREAM_NOTIFY, 73);
    EXPECT_EQ(ZMQ_INVERT_MATCHING, 74);
    EXPECT_EQ(ZMQ_HEARTBEAT_IVL, 75);
    EXPECT_EQ(ZMQ_HEARTBEAT_TTL, 76);
    EXPECT_EQ(ZMQ_HEARTBEAT_TIMEOUT, 77);
    EXPECT_EQ(ZMQ_XPUB_VERBOSER, 78);
    EXPECT_EQ(ZMQ_CONNECT_TIMEOUT, 79);
    EXPECT_EQ(ZMQ_TCP_MAXRT, 80);
    EXPECT_EQ(ZMQ_THREAD_SAFE, 81);
    EXPECT_EQ(ZMQ_MULTICAST_MAXTPDU, 84);
    EXPECT_EQ(ZMQ_VMCI_BUFFER_SIZE, 85);
    EXPECT_EQ(ZMQ_VMCI_BUFFER_MIN_SIZE, 86);
    EXPECT_EQ(ZMQ_VMCI_BUFFER_MAX_SIZE, 87);
    EXPECT_EQ(ZMQ_VMCI_CONNECT_TIMEOUT, 88);
    EXPECT_EQ(ZMQ_USE_FD, 89);
    EXPECT_EQ(ZMQ_GSSAPI_PRINCIPAL_NAMETYPE, 90);
    EXPECT_EQ(ZMQ_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE, 91);
    EXPECT_EQ(ZMQ_BINDTODEVICE, 92);
}

TEST(header_constants, draft_socket_options)
{
    EXPECT_EQ(ZMQ_ZAP_ENFORCE_DOMAIN, 93);
    EXPECT_EQ(ZMQ_LOOPBACK_FASTPATH, 94);
    EXPECT_EQ(ZMQ_METADATA, 95);
    EXPECT_EQ(ZMQ_MULTICAST_LOOP, 96);
    EXPECT_EQ(ZMQ_ROUTER_NOTIFY, 97);
    EXPECT_EQ(ZMQ_XPUB_MANUAL_LAST_VALUE, 98);
    EXPECT_EQ(ZMQ_SOCKS_USERNAME, 99);
    EXPECT_EQ(ZMQ_SOCKS_PASSWORD, 100);
    EXPECT_EQ(ZMQ_IN_BATCH_SIZE, 101);
    EXPECT_EQ(ZMQ_OUT_BATCH_SIZE, 102);
    EXPECT_EQ(ZMQ_WSS_KEY_PEM, 103);
    EXPECT_EQ(ZMQ_WSS_CERT_PEM, 104);
    EXPECT_EQ(ZMQ_WSS_TRUST_PEM, 105);
    EXPECT_EQ(ZMQ_WSS_HOSTNAME, 106);
    EXPECT_EQ(ZMQ_WSS_TRUST_SYSTEM, 107);
    EXPECT_EQ(ZMQ_ONLY_FIRST_SUBSCRIBE, 108);
    EXPECT_EQ(ZMQ_RECONNECT_STOP, 109);
    EXPECT_EQ(ZMQ_HELLO_MSG, 110);
    EXPECT_EQ(ZMQ_DISCONNECT_MSG, 111);
    EXPECT_EQ(ZMQ_PRIORITY, 112);
    EXPECT_EQ(ZMQ_BUSY_POLL, 113);
    EXPECT_EQ(ZMQ_HICCUP_MSG, 114);
    EXPECT_EQ(ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, 115);
    EXPECT_EQ(ZMQ_TOPICS_COUNT, 116);
    EXPECT_EQ(ZMQ_NORM_MODE, 117);
    EXPECT_EQ(ZMQ_NORM_UNICAST_NACK, 118);
    EXPECT_EQ(ZMQ_NORM_BUFFER_SIZE, 119);
    EXPECT_EQ(ZMQ_NORM_SEGMENT_SIZE, 120);
    EXPECT_EQ(ZMQ_NORM_BLOCK_SIZE, 121);
    EXPECT_EQ(ZMQ_NORM_NUM_PARITY, 122);
    EXPECT_EQ(ZMQ_NORM_NUM_AUTOPARITY, 123);
    EXPECT_EQ(ZMQ_NORM_PUSH, 124);
}

TEST(header_constants, deprecated_socket_options)
{
    EXPECT_EQ(ZMQ_IPV4ONLY, 31);
    EXPECT_EQ(ZMQ_TCP_ACCEPT_FILTER, 38);
    EXPECT_EQ(ZMQ_IPC_FILTER_PID, 58);
    EXPECT_EQ(ZMQ_IPC_FILTER_UID, 59);
    EXPECT_EQ(ZMQ_IPC_FILTER_GID, 60);
    EXPECT_EQ(ZMQ_IDENTITY, 5);
    EXPECT_EQ(ZMQ_CONNECT_RID, 61);
    EXPECT_EQ(ZMQ_DELAY_ATTACH_ON_CONNECT, 39);
    EXPECT_EQ(ZMQ_FAIL_UNROUTABLE, 33);
    EXPECT_EQ(ZMQ_ROUTER_BEHAVIOR, 33);
}

TEST(header_constants, option_values)
{
    EXPECT_EQ(ZMQ_NULL, 0);
    EXPECT_EQ(ZMQ_PLAIN, 1);
    EXPECT_EQ(ZMQ_CURVE, 2);
    EXPECT_EQ(ZMQ_GSSAPI, 3);
    EXPECT_EQ(ZMQ_GSSAPI_NT_HOSTBASED, 0);
    EXPECT_EQ(ZMQ_GSSAPI_NT_USER_NAME, 1);
    EXPECT_EQ(ZMQ_GSSAPI_NT_KRB5_PRINCIPAL, 2);
    EXPECT_EQ(ZMQ_NOTIFY_CONNECT, 1);
    EXPECT_EQ(ZMQ_NOTIFY_DISCONNECT, 2);
    EXPECT_EQ(ZMQ_RECONNECT_STOP_CONN_REFUSED, 1);
    EXPECT_EQ(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED, 2);
    EXPECT_EQ(ZMQ_RECONNECT_STOP_AFTER_DISCONNECT, 4);
    EXPECT_EQ(ZMQ_NORM_FIXED, 0);
    EXPECT_EQ(ZMQ_NORM_CC, 1);
    EXPECT_EQ(ZMQ_NORM_CCL, 2);
    EXPECT_EQ(ZMQ_NORM_CCE, 3);
    EXPECT_EQ(ZMQ_NORM_CCE_ECNONLY, 4);
}

TEST(header_constants, messages_and_flags)
{
    EXPECT_EQ(ZMQ_DONTWAIT, 1);
    EXPECT_EQ(ZMQ_NOBLOCK, 1);
    EXPECT_EQ(ZMQ_SNDMORE, 2);
    EXPECT_EQ(ZMQ_MORE, 1);
    EXPECT_EQ(ZMQ_SRCFD, 2);
    EXPECT_EQ(ZMQ_SHARED, 3);
    EXPECT_EQ(ZMQ_GROUP_MAX_LENGTH, 255);
    EXPECT_EQ(ZMQ_POLLIN, 1);
    EXPECT_EQ(ZMQ_POLLOUT, 2);
    EXPECT_EQ(ZMQ_POLLERR, 4);
    EXPECT_EQ(ZMQ_POLLPRI, 8);
    EXPECT_EQ(ZMQ_POLLITEMS_DFLT, 16);
    EXPECT_EQ(ZMQ_STREAMER, 1);
    EXPECT_EQ(ZMQ_FORWARDER, 2);
    EXPECT_EQ(ZMQ_QUEUE, 3);
}

TEST(header_constants, events)
{
    EXPECT_EQ(ZMQ_EVENT_CONNECTED, 0x0001);
    EXPECT_EQ(ZMQ_EVENT_CONNECT_DELAYED, 0x0002);
    EXPECT_EQ(ZMQ_EVENT_CONNECT_RETRIED, 0x0004);
    EXPECT_EQ(ZMQ_EVENT_LISTENING, 0x0008);
    EXPECT_EQ(ZMQ_EVENT_BIND_FAILED, 0x0010);
    EXPECT_EQ(ZMQ_EVENT_ACCEPTED, 0x0020);
    EXPECT_EQ(ZMQ_EVENT_ACCEPT_FAILED, 0x0040);
    EXPECT_EQ(ZMQ_EVENT_CLOSED, 0x0080);
    EXPECT_EQ(ZMQ_EVENT_CLOSE_FAILED, 0x0100);
    EXPECT_EQ(ZMQ_EVENT_DISCONNECTED, 0x0200);
    EXPECT_EQ(ZMQ_EVENT_MONITOR_STOPPED, 0x0400);
    EXPECT_EQ(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, 0x0800);
    EXPECT_EQ(ZMQ_EVENT_HANDSHAKE_SUCCEEDED, 0x1000);
    EXPECT_EQ(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, 0x2000);
    EXPECT_EQ(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, 0x4000);
    EXPECT_EQ(ZMQ_EVENT_ALL, 0xFFFF);
    EXPECT_EQ(ZMQ_EVENT_PIPES_STATS, 0x10000);
    EXPECT_EQ(ZMQ_EVENT_ALL_V1, 0xFFFF);
    EXPECT_EQ(ZMQ_EVENT_ALL_V2, 0x1FFFF);
    EXPECT_EQ(ZMQ_CURRENT_EVENT_VERSION, 1);
    EXPECT_EQ(ZMQ_CURRENT_EVENT_VERSION_DRAFT, 2);
}

TEST(header_constants, protocol_errors)
{
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED, 0x10000000);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND, 0x10000001);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_SEQUENCE, 0x10000002);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE, 0x10000003);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED, 0x10000011);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_MESSAGE, 0x10000012);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO, 0x10000013);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_INITIATE, 0x10000014);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR, 0x10000015);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY, 0x10000016);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_WELCOME, 0x10000017);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA, 0x10000018);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC, 0x11000001);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, 0x11000002);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZAP_UNSPECIFIED, 0x20000000);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY, 0x20000001);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZAP_BAD_REQUEST_ID, 0x20000002);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZAP_BAD_VERSION, 0x20000003);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE, 0x20000004);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_ZAP_INVALID_METADATA, 0x20000005);
    EXPECT_EQ(ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED, 0x30000000);
}

TEST(header_constants, message_property_names)
{
    EXPECT_EQ(std::string(ZMQ_MSG_PROPERTY_ROUTING_ID), "Routing-Id");
    EXPECT_EQ(std::string(ZMQ_MSG_PROPERTY_SOCKET_TYPE), "Socket-Type");
    EXPECT_EQ(std::string(ZMQ_MSG_PROPERTY_USER_ID), "User-Id");
    EXPECT_EQ(std::string(ZMQ_MSG_PROPERTY_PEER_ADDRESS), "Peer-Address");
}

TEST(header_constants, version)
{
    EXPECT_EQ(ZMQ_VERSION_MAJOR, 4);
    EXPECT_EQ(ZMQ_VERSION_MINOR, 3);
    EXPECT_EQ(ZMQ_VERSION_PATCH, 5);
    EXPECT_EQ(ZMQ_VERSION, 40305);
    EXPECT_EQ(ZMQ_MAKE_VERSION(1 + 1, 2 + 1, 3 + 1), 20304);
    EXPECT_EQ(ZMQ_DEFINED_STDINT, 1);
    EXPECT_EQ(ZMQ_HAS_CAPABILITIES, 1);
#if !defined ZMQ_HAVE_TIMERS || !defined ZMQ_HAVE_POLLER
    FAIL() << "feature macros are missing";
#endif
}

TEST(header_errno, own_values)
{
    EXPECT_EQ(ZMQ_HAUSNUMERO, 156384712);
    EXPECT_EQ(EFSM, 156384763);
    EXPECT_EQ(ENOCOMPATPROTO, 156384764);
    EXPECT_EQ(ETERM, 156384765);
    EXPECT_EQ(EMTHREAD, 156384766);
}

#if defined __linux__
TEST(header_errno, values_of_the_platform_win)
{
    for (const int value :
         {ENOTSUP, EPROTONOSUPPORT, ENOBUFS, ENETDOWN, EADDRINUSE, EADDRNOTAVAIL, ECONNREFUSED,
          EINPROGRESS, ENOTSOCK, EMSGSIZE, EAFNOSUPPORT, ENETUNREACH, ECONNABORTED, ECONNRESET,
          ENOTCONN, ETIMEDOUT, EHOSTUNREACH, ENETRESET}) {
        EXPECT_LT(value, ZMQ_HAUSNUMERO);
    }
}
#endif

TEST(header_layout, message)
{
    EXPECT_EQ(sizeof(zmq_msg_t), 64u);
    EXPECT_EQ(alignof(zmq_msg_t), alignof(void*));
}

TEST(header_layout, pollitem)
{
#if defined _WIN64
    EXPECT_EQ(sizeof(zmq_fd_t), 8u);
    EXPECT_EQ(sizeof(zmq_pollitem_t), 24u);
#else
    EXPECT_EQ(sizeof(zmq_fd_t), 4u);
    EXPECT_EQ(sizeof(zmq_pollitem_t), sizeof(void*) + 8);
#endif
    EXPECT_EQ(offsetof(zmq_pollitem_t, socket), 0u);
    EXPECT_EQ(offsetof(zmq_pollitem_t, fd), sizeof(void*));
    EXPECT_EQ(offsetof(zmq_pollitem_t, events), sizeof(void*) + sizeof(zmq_fd_t));
    EXPECT_EQ(offsetof(zmq_pollitem_t, revents), sizeof(void*) + sizeof(zmq_fd_t) + 2);
}

TEST(header_layout, poller_event)
{
    EXPECT_EQ(sizeof(zmq_poller_event_t), 4 * sizeof(void*));
    EXPECT_EQ(offsetof(zmq_poller_event_t, socket), 0u);
    EXPECT_EQ(offsetof(zmq_poller_event_t, fd), sizeof(void*));
    EXPECT_EQ(offsetof(zmq_poller_event_t, user_data), 2 * sizeof(void*));
    EXPECT_EQ(offsetof(zmq_poller_event_t, events), 3 * sizeof(void*));
}

TEST(header_layout, a_message_has_one_member)
{
    zmq_msg_t message{};
    auto& [bytes] = message;
    static_assert(std::is_same_v<decltype(bytes), unsigned char[64]>);
    EXPECT_EQ(static_cast<void*>(&message), static_cast<void*>(&bytes));
}

/// True if the type of a declared function is exactly this one. Checked while compiling.
template <typename Declared, typename Expected>
constexpr bool same = std::is_same_v<Declared, Expected>;

using item = zmq_pollitem_t;
using event = zmq_poller_event_t;
using msg = zmq_msg_t;

static_assert(same<zmq_free_fn, void(void*, void*)>);
static_assert(same<zmq_timer_fn, void(int, void*)>);
static_assert(same<zmq_thread_fn, void(void*)>);
static_assert(same<decltype(item::events), short>);
static_assert(same<decltype(item::revents), short>);
static_assert(same<decltype(event::events), short>);

static_assert(same<decltype(zmq_version), void(int*, int*, int*)>);
static_assert(same<decltype(zmq_errno), int()>);
static_assert(same<decltype(zmq_strerror), const char*(int)>);
static_assert(same<decltype(zmq_has), int(const char*)>);
static_assert(same<decltype(zmq_ctx_new), void*()>);
static_assert(same<decltype(zmq_ctx_term), int(void*)>);
static_assert(same<decltype(zmq_ctx_shutdown), int(void*)>);
static_assert(same<decltype(zmq_ctx_set), int(void*, int, int)>);
static_assert(same<decltype(zmq_ctx_get), int(void*, int)>);
static_assert(same<decltype(zmq_ctx_set_ext), int(void*, int, const void*, std::size_t)>);
static_assert(same<decltype(zmq_ctx_get_ext), int(void*, int, void*, std::size_t*)>);
static_assert(same<decltype(zmq_init), void*(int)>);
static_assert(same<decltype(zmq_term), int(void*)>);
static_assert(same<decltype(zmq_ctx_destroy), int(void*)>);
static_assert(same<decltype(zmq_msg_init), int(msg*)>);
static_assert(same<decltype(zmq_msg_init_size), int(msg*, std::size_t)>);
static_assert(same<decltype(zmq_msg_init_data),
                   int(msg*, void*, std::size_t, void (*)(void*, void*), void*)>);
static_assert(same<decltype(zmq_msg_init_buffer), int(msg*, const void*, std::size_t)>);
static_assert(same<decltype(zmq_msg_send), int(msg*, void*, int)>);
static_assert(same<decltype(zmq_msg_recv), int(msg*, void*, int)>);
static_assert(same<decltype(zmq_msg_close), int(msg*)>);
static_assert(same<decltype(zmq_msg_move), int(msg*, msg*)>);
static_assert(same<decltype(zmq_msg_copy), int(msg*, msg*)>);
static_assert(same<decltype(zmq_msg_data), void*(msg*)>);
static_assert(same<decltype(zmq_msg_size), std::size_t(const msg*)>);
static_assert(same<decltype(zmq_msg_more), int(const msg*)>);
static_assert(same<decltype(zmq_msg_get), int(const msg*, int)>);
static_assert(same<decltype(zmq_msg_set), int(msg*, int, int)>);
static_assert(same<decltype(zmq_msg_gets), const char*(const msg*, const char*)>);
static_assert(same<decltype(zmq_msg_set_routing_id), int(msg*, std::uint32_t)>);
static_assert(same<decltype(zmq_msg_routing_id), std::uint32_t(msg*)>);
static_assert(same<decltype(zmq_msg_set_group), int(msg*, const char*)>);
static_assert(same<decltype(zmq_msg_group), const char*(msg*)>);
static_assert(same<decltype(zmq_socket), void*(void*, int)>);
static_assert(same<decltype(zmq_close), int(void*)>);
static_assert(same<decltype(zmq_setsockopt), int(void*, int, const void*, std::size_t)>);
static_assert(same<decltype(zmq_getsockopt), int(void*, int, void*, std::size_t*)>);
static_assert(same<decltype(zmq_bind), int(void*, const char*)>);
static_assert(same<decltype(zmq_connect), int(void*, const char*)>);
static_assert(same<decltype(zmq_unbind), int(void*, const char*)>);
static_assert(same<decltype(zmq_disconnect), int(void*, const char*)>);
static_assert(same<decltype(zmq_connect_peer), std::uint32_t(void*, const char*)>);
static_assert(same<decltype(zmq_disconnect_peer), int(void*, std::uint32_t)>);
static_assert(same<decltype(zmq_join), int(void*, const char*)>);
static_assert(same<decltype(zmq_leave), int(void*, const char*)>);
static_assert(same<decltype(zmq_socket_get_peer_state), int(void*, const void*, std::size_t)>);
static_assert(same<decltype(zmq_send), int(void*, const void*, std::size_t, int)>);
static_assert(same<decltype(zmq_send_const), int(void*, const void*, std::size_t, int)>);
static_assert(same<decltype(zmq_recv), int(void*, void*, std::size_t, int)>);
static_assert(same<decltype(zmq_sendiov), int(void*, iovec*, std::size_t, int)>);
static_assert(same<decltype(zmq_recviov), int(void*, iovec*, std::size_t*, int)>);
static_assert(same<decltype(zmq_sendmsg), int(void*, msg*, int)>);
static_assert(same<decltype(zmq_recvmsg), int(void*, msg*, int)>);
static_assert(same<decltype(zmq_poll), int(item*, int, long)>);
static_assert(same<decltype(zmq_ppoll), int(item*, int, long, const void*)>);
static_assert(same<decltype(zmq_poller_new), void*()>);
static_assert(same<decltype(zmq_poller_destroy), int(void**)>);
static_assert(same<decltype(zmq_poller_size), int(void*)>);
static_assert(same<decltype(zmq_poller_add), int(void*, void*, void*, short)>);
static_assert(same<decltype(zmq_poller_modify), int(void*, void*, short)>);
static_assert(same<decltype(zmq_poller_remove), int(void*, void*)>);
static_assert(same<decltype(zmq_poller_wait), int(void*, event*, long)>);
static_assert(same<decltype(zmq_poller_wait_all), int(void*, event*, int, long)>);
static_assert(same<decltype(zmq_poller_fd), int(void*, zmq_fd_t*)>);
static_assert(same<decltype(zmq_poller_add_fd), int(void*, zmq_fd_t, void*, short)>);
static_assert(same<decltype(zmq_poller_modify_fd), int(void*, zmq_fd_t, short)>);
static_assert(same<decltype(zmq_poller_remove_fd), int(void*, zmq_fd_t)>);
static_assert(same<decltype(zmq_proxy), int(void*, void*, void*)>);
static_assert(same<decltype(zmq_proxy_steerable), int(void*, void*, void*, void*)>);
static_assert(same<decltype(zmq_device), int(int, void*, void*)>);
static_assert(same<decltype(zmq_socket_monitor), int(void*, const char*, int)>);
static_assert(
    same<decltype(zmq_socket_monitor_versioned), int(void*, const char*, std::uint64_t, int, int)>);
static_assert(same<decltype(zmq_socket_monitor_pipes_stats), int(void*)>);
static_assert(same<decltype(zmq_z85_encode), char*(char*, const std::uint8_t*, std::size_t)>);
static_assert(same<decltype(zmq_z85_decode), std::uint8_t*(std::uint8_t*, const char*)>);
static_assert(same<decltype(zmq_curve_keypair), int(char*, char*)>);
static_assert(same<decltype(zmq_curve_public), int(char*, const char*)>);
static_assert(same<decltype(zmq_timers_new), void*()>);
static_assert(same<decltype(zmq_timers_destroy), int(void**)>);
static_assert(same<decltype(zmq_timers_add), int(void*, std::size_t, void (*)(int, void*), void*)>);
static_assert(same<decltype(zmq_timers_cancel), int(void*, int)>);
static_assert(same<decltype(zmq_timers_set_interval), int(void*, int, std::size_t)>);
static_assert(same<decltype(zmq_timers_reset), int(void*, int)>);
static_assert(same<decltype(zmq_timers_timeout), long(void*)>);
static_assert(same<decltype(zmq_timers_execute), int(void*)>);
static_assert(same<decltype(zmq_atomic_counter_new), void*()>);
static_assert(same<decltype(zmq_atomic_counter_set), void(void*, int)>);
static_assert(same<decltype(zmq_atomic_counter_inc), int(void*)>);
static_assert(same<decltype(zmq_atomic_counter_dec), int(void*)>);
static_assert(same<decltype(zmq_atomic_counter_value), int(void*)>);
static_assert(same<decltype(zmq_atomic_counter_destroy), void(void**)>);
static_assert(same<decltype(zmq_stopwatch_start), void*()>);
static_assert(same<decltype(zmq_stopwatch_intermediate), unsigned long(void*)>);
static_assert(same<decltype(zmq_stopwatch_stop), unsigned long(void*)>);
static_assert(same<decltype(zmq_sleep), void(int)>);
static_assert(same<decltype(zmq_threadstart), void*(void (*)(void*), void*)>);
static_assert(same<decltype(zmq_threadclose), void(void*)>);

} // namespace
