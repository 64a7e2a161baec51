// SPDX-License-Identifier: Apache-2.0
// Monitors: which events come, in which order, with which values and texts.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/descriptors.hpp"
#include "support/listening_post.hpp"
#include "support/plain_udp.hpp"
#include "support/raw_peer.hpp"
#include "support/sanitizers.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace zlink::test {
namespace {

class Monitor : public transport_test {
protected:
    const link_traits& traits_ = traits_of(GetParam());
    /// What the addresses of both ends begin with. A client of ipc has none of its own.
    const std::string origin_ =
        traits_.scheme + std::string(traits_.has_ports ? "://127.0.0.1:" : "://");
    /// Connecting takes a moment, which is an event.
    bool connects_later() const { return traits_.has_ports; }
    void expect_connecting(listening_post& post, const std::string& endpoint)
    {
        if (!connects_later())
            return;
        const told delayed = post.expect(ZMQ_EVENT_CONNECT_DELAYED);
        EXPECT_EQ(std::vector<std::uint64_t>{EINPROGRESS}, delayed.values);
        EXPECT_EQ(endpoint, delayed.local);
    }
};

TEST_P(Monitor, tells_both_sides_of_a_connection_from_beginning_to_end)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, 37);
    client.set(ZMQ_RECONNECT_IVL_MAX, 37);
    listening_post at_server(context_, server);
    listening_post at_client(context_, client);

    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    const told listening = at_server.expect(ZMQ_EVENT_LISTENING);
    EXPECT_EQ(address, listening.local);

    client.connect(address);
    expect_connecting(at_client, address);
    const told connected = at_client.expect(ZMQ_EVENT_CONNECTED);
    EXPECT_EQ(address, connected.local);
    const told client_ready = at_client.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(address, client_ready.local);
    EXPECT_EQ(0u, client_ready.values.at(0));
    const told accepted = at_server.expect(ZMQ_EVENT_ACCEPTED);
    EXPECT_EQ(address, accepted.local);
    EXPECT_NE(accepted.values.at(0), connected.values.at(0));
    const told server_ready = at_server.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(address, server_ready.local);
    EXPECT_EQ(0u, server_ready.values.at(0));

    server.close();
    const told closed = at_server.expect(ZMQ_EVENT_CLOSED);
    EXPECT_EQ(address, closed.local);
    EXPECT_EQ(listening.values, closed.values);
    const told stopped = at_server.expect(ZMQ_EVENT_MONITOR_STOPPED);
    EXPECT_EQ("", stopped.local);
    EXPECT_EQ(0u, stopped.values.at(0));

    const told lost = at_client.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(connected.values, lost.values);
    EXPECT_EQ(address, lost.local);
    const told retried = at_client.expect(ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_EQ(37u, retried.values.at(0));
    EXPECT_EQ(address, retried.local);
    expect_connecting(at_client, address);
    at_client.expect(ZMQ_EVENT_CLOSED);
    at_client.expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_P(Monitor, tells_the_bound_side_when_a_peer_leaves)
{
    test_socket server(context_, ZMQ_ROUTER);
    listening_post post(context_, server, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int round = 0; round < 3; ++round) {
        test_socket client(context_, ZMQ_DEALER);
        client.connect(address);
        const told accepted = post.expect(ZMQ_EVENT_ACCEPTED);
        client.send("x");
        server.recv_parts();
        client.close();
        const told lost = post.expect(ZMQ_EVENT_DISCONNECTED);
        EXPECT_EQ(accepted.values, lost.values);
        EXPECT_EQ(address, lost.local);
    }
    EXPECT_TRUE(post.quiet());
}

// The application may act on an event at once, so the socket has to know first.
TEST_P(Monitor, tells_of_a_connection_when_the_socket_can_send_there)
{
    for (int round = 0; round < 20; ++round) {
        test_socket sink(context_, ZMQ_PULL);
        test_socket source(context_, ZMQ_PUSH);
        source.set(ZMQ_IMMEDIATE, 1);
        listening_post post(context_, source, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        source.connect(sink.bind_and_resolve(fresh_bind_address(GetParam())));
        post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        ASSERT_TRUE(source.try_send("x"));
    }
}

/// A ROUTER that refuses unknown peers, somebody who hears of it, and the DEALER "d" connected.
struct watched_router {
    watched_router(test_context& context, int events, transport kind)
        : router(context, ZMQ_ROUTER), post(context, router, events), dealer(context, ZMQ_DEALER)
    {
        router.set(ZMQ_ROUTER_MANDATORY, 1);
        dealer.set(ZMQ_ROUTING_ID, "d");
        dealer.connect(router.bind_and_resolve(fresh_bind_address(kind)));
    }
    int begin_sending() { return zmq_send(router, "d", 1, ZMQ_SNDMORE | ZMQ_DONTWAIT); }

    test_socket router;
    listening_post post;
    test_socket dealer;
};

TEST_P(Monitor, tells_of_a_peer_when_a_router_knows_it)
{
    for (int round = 0; round < 20; ++round) {
        watched_router at(context_, ZMQ_EVENT_HANDSHAKE_SUCCEEDED, GetParam());
        at.post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        ASSERT_EQ(1, at.begin_sending()) << zmq_strerror(errno);
        at.router.send("x");
    }
}

class ZlinkOnlyMonitor : public transport_test {};

TEST_P(ZlinkOnlyMonitor, tells_of_a_loss_when_a_router_knows_of_it)
{
    for (int round = 0; round < 20; ++round) {
        watched_router at(context_, ZMQ_EVENT_DISCONNECTED, GetParam());
        at.dealer.send("x");
        ASSERT_EQ((parts{"d", "x"}), at.router.recv_parts());
        at.dealer.close();
        at.post.expect(ZMQ_EVENT_DISCONNECTED);
        ASSERT_TRUE(fails_with(EHOSTUNREACH, at.begin_sending()));
    }
}

TEST_P(Monitor, tells_of_every_try_at_an_address_where_nobody_listens)
{
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, 10);
    client.set(ZMQ_RECONNECT_IVL_MAX, 40);
    listening_post post(context_, client);
    const std::string address = known_address(GetParam());
    client.connect(address);
    for (const std::uint64_t interval : {10u, 20u, 40u, 40u}) {
        expect_connecting(post, address);
        EXPECT_EQ(address, post.expect(ZMQ_EVENT_CLOSED).local);
        EXPECT_EQ(interval, post.expect(ZMQ_EVENT_CONNECT_RETRIED).values.at(0));
    }
}

TEST_P(Monitor, tells_nothing_more_when_reconnecting_is_off)
{
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, -1);
    listening_post post(context_, client);
    const std::string address = known_address(GetParam());
    client.connect(address);
    expect_connecting(post, address);
    post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_TRUE(post.quiet());
}

TEST_P(Monitor, says_nothing_of_connections_that_the_socket_ends_itself)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    listening_post post(context_, client);
    client.connect(address);
    expect_connecting(post, address);
    post.expect(ZMQ_EVENT_CONNECTED);
    post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    client.disconnect(address);
    EXPECT_TRUE(post.quiet());
    client.close();
    post.expect(ZMQ_EVENT_MONITOR_STOPPED);
}

TEST_P(Monitor, says_nothing_of_connections_that_end_with_the_socket)
{
    test_socket server(context_, ZMQ_ROUTER);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    for (const bool traffic : {false, true}) {
        test_socket client(context_, ZMQ_DEALER);
        listening_post post(context_, client);
        client.connect(address);
        expect_connecting(post, address);
        post.expect(ZMQ_EVENT_CONNECTED);
        post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        if (traffic) {
            client.send("x");
            server.send_parts(server.recv_parts());
            EXPECT_TRUE(client.readable());
        }
        client.close();
        post.expect(ZMQ_EVENT_MONITOR_STOPPED);
        EXPECT_TRUE(post.quiet());
    }
}

TEST_P(Monitor, tells_the_end_of_listening_at_unbind)
{
    test_socket server(context_, ZMQ_ROUTER);
    listening_post post(context_, server);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    const told listening = post.expect(ZMQ_EVENT_LISTENING);
    server.unbind(address);
    const told closed = post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_EQ(listening.values, closed.values);
    EXPECT_EQ(address, closed.local);
    EXPECT_TRUE(post.quiet());
}

TEST_P(Monitor, names_both_ends_in_version_2)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    listening_post at_server(context_, server, ZMQ_EVENT_ALL_V2, 2);
    listening_post at_client(context_, client, ZMQ_EVENT_ALL_V2, 2);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    const told listening = at_server.expect(ZMQ_EVENT_LISTENING);
    EXPECT_EQ(address, listening.local);
    EXPECT_EQ("", listening.remote);
    client.connect(address);
    if (connects_later()) {
        const told delayed = at_client.expect(ZMQ_EVENT_CONNECT_DELAYED);
        EXPECT_EQ("", delayed.local);
        EXPECT_EQ(address, delayed.remote);
    }
    const told connected = at_client.expect(ZMQ_EVENT_CONNECTED);
    EXPECT_EQ(address, connected.remote);
    const told accepted = at_server.expect(ZMQ_EVENT_ACCEPTED);
    EXPECT_EQ(address, accepted.local);
    EXPECT_EQ(connected.local, accepted.remote) << "the ends see each other";
    if (connects_later())
        EXPECT_TRUE(connected.local.starts_with(origin_)) << connected.local;
    else
        EXPECT_EQ(origin_, connected.local);
    at_client.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    at_server.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    client.close();
    const told stopped = [&] {
        told last = at_client.next();
        while (last.event != ZMQ_EVENT_MONITOR_STOPPED)
            last = at_client.next();
        return last;
    }();
    EXPECT_EQ(std::vector<std::uint64_t>{0}, stopped.values);
    EXPECT_EQ("", stopped.local + stopped.remote);
    const told lost = at_server.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(accepted.local, lost.local);
    EXPECT_EQ(accepted.remote, lost.remote);
    EXPECT_EQ(accepted.values, lost.values);
}

TEST_P(Monitor, names_both_ends_of_a_connection_that_broke)
{
    test_socket server(context_, ZMQ_ROUTER);
    test_socket client(context_, ZMQ_DEALER);
    listening_post all(context_, client, ZMQ_EVENT_ALL_V2, 2);
    listening_post ends(context_, server, ZMQ_EVENT_DISCONNECTED, 2);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    client.connect(address);
    told connected = all.next();
    while (connected.event != ZMQ_EVENT_CONNECTED)
        connected = all.next();
    all.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    client.send("x");
    server.recv_parts();
    client.disconnect(address);
    const told lost = ends.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_EQ(address, lost.local);
    EXPECT_EQ(connected.local, lost.remote);
    client.connect(address);
    all.expect(connects_later() ? ZMQ_EVENT_CONNECT_DELAYED : ZMQ_EVENT_CONNECTED);
    while (all.next().event != ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
    }
    server.close();
    EXPECT_EQ(address, all.expect(ZMQ_EVENT_DISCONNECTED).remote);
    const told retried = all.expect(ZMQ_EVENT_CONNECT_RETRIED);
    EXPECT_EQ("", retried.local);
    EXPECT_EQ(address, retried.remote);
}

TEST_P(Monitor, reports_queues_with_the_endpoint_of_the_peer)
{
    test_socket server(context_, ZMQ_ROUTER);
    listening_post accepted(context_, server, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_PIPES_STATS, 2);
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<std::string> peers;
    std::vector<test_socket> clients;
    for (int index = 0; index < 3; ++index) {
        clients.emplace_back(context_, ZMQ_DEALER).connect(address);
        peers.push_back(accepted.expect(ZMQ_EVENT_ACCEPTED).remote);
        clients.back().send("x");
        server.recv_parts();
    }
    ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(server));
    std::vector<std::string> seen;
    for (int index = 0; index < 3; ++index) {
        const told stats = accepted.expect(ZMQ_EVENT_PIPES_STATS);
        EXPECT_EQ(address, stats.local);
        seen.push_back(stats.remote);
    }
    std::ranges::sort(peers);
    std::ranges::sort(seen);
    EXPECT_EQ(peers, seen);
    EXPECT_TRUE(seen[0].starts_with(origin_)) << seen[0];
    listening_post at_client(context_, clients[0], ZMQ_EVENT_PIPES_STATS, 2);
    ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(clients[0]));
    EXPECT_EQ(address, at_client.expect(ZMQ_EVENT_PIPES_STATS).remote);
}

TEST_P(Monitor, reports_the_lengths_of_queues)
{
    test_socket source(context_, ZMQ_PUSH);
    listening_post post(context_, source, ZMQ_EVENT_PIPES_STATS, 2);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_socket_monitor_pipes_stats(source)));
    const std::string address = known_address(GetParam());
    source.connect(address);
    for (int count : {0, 3}) {
        for (int index = 0; index < count; ++index)
            source.send("x");
        ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(source));
        const told stats = post.expect(ZMQ_EVENT_PIPES_STATS);
        EXPECT_EQ((std::vector<std::uint64_t>{static_cast<std::uint64_t>(count), 0}), stats.values);
        EXPECT_EQ(address, stats.remote);
    }
    test_socket sink(context_, ZMQ_PULL);
    listening_post at_sink(context_, sink, ZMQ_EVENT_PIPES_STATS, 2);
    sink.bind(address);
    EXPECT_EQ("x", sink.recv());
    ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(sink));
    EXPECT_EQ((std::vector<std::uint64_t>{0, 2}), at_sink.expect(ZMQ_EVENT_PIPES_STATS).values);
    EXPECT_TRUE(wait_until([&] {
        zmq_socket_monitor_pipes_stats(source);
        return post.next().values.at(0) == 0;
    }));
}

ZLINK_WIRE_TRANSPORTS(Monitor);
ZLINK_WIRE_TRANSPORTS(ZlinkOnlyMonitor);

TEST(MonitorQueues, are_told_for_each_pipe)
{
    test_context context;
    test_socket source(context, ZMQ_PUSH);
    listening_post post(context, source, ZMQ_EVENT_PIPES_STATS, 2);
    std::vector<std::string> addresses;
    for (int index = 0; index < 3; ++index) {
        addresses.push_back(known_address(transport::tcp));
        source.connect(addresses.back());
    }
    for (int index = 0; index < 4; ++index) // in turn to each of them
        source.send("x");
    ASSERT_EQ(0, zmq_socket_monitor_pipes_stats(source));
    std::vector<std::string> seen;
    std::uint64_t queued = 0;
    for (int index = 0; index < 3; ++index) {
        const told stats = post.expect(ZMQ_EVENT_PIPES_STATS);
        ASSERT_EQ(2u, stats.values.size());
        queued += stats.values[0];
        seen.push_back(stats.remote);
    }
    EXPECT_EQ(4u, queued);
    std::ranges::sort(addresses);
    std::ranges::sort(seen);
    EXPECT_EQ(addresses, seen);
    EXPECT_TRUE(post.quiet());
}

TEST(MonitorVersion2, gives_all_other_events_one_value)
{
    test_context context;
    test_socket socket(context, ZMQ_ROUTER);
    listening_post post(context, socket, ZMQ_EVENT_ALL_V2, 2);
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket, address.c_str())));
    {
        test_socket client(context, ZMQ_DEALER);
        client.connect(address);
        client.send("x");
        socket.recv_parts();
    }
    std::uint64_t seen = 0;
    while ((seen & ZMQ_EVENT_DISCONNECTED) == 0) {
        const told event = post.next();
        EXPECT_EQ(1u, event.values.size()) << event.event;
        seen |= event.event;
    }
    for (const std::uint64_t event : {ZMQ_EVENT_LISTENING, ZMQ_EVENT_BIND_FAILED,
                                      ZMQ_EVENT_ACCEPTED, ZMQ_EVENT_HANDSHAKE_SUCCEEDED})
        EXPECT_NE(0u, seen & event) << event;
}

class MonitorFailures : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(MonitorFailures, a_bind_that_fails_is_told)
{
    test_socket taken(context_, ZMQ_ROUTER);
    const std::string address = taken.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket socket(context_, ZMQ_ROUTER);
    listening_post post(context_, socket);
    EXPECT_TRUE(fails_with(EADDRINUSE, zmq_bind(socket, address.c_str())));
    EXPECT_EQ("", post.expect(ZMQ_EVENT_CLOSED).local);
    const told failed = post.expect(ZMQ_EVENT_BIND_FAILED);
    EXPECT_EQ(static_cast<std::uint64_t>(EADDRINUSE), failed.values.at(0));
    EXPECT_EQ(address.substr(6), failed.local) << "without the scheme";
    EXPECT_TRUE(fails_with(ENODEV, zmq_bind(socket, "tcp://nosuchinterface:*")));
    const told unknown = post.expect(ZMQ_EVENT_BIND_FAILED);
    EXPECT_EQ(static_cast<std::uint64_t>(ENODEV), unknown.values.at(0));
    EXPECT_EQ("nosuchinterface:*", unknown.local);
    EXPECT_TRUE(fails_with(EINVAL, zmq_bind(socket, "tcp://;127.0.0.1:80")));
    EXPECT_EQ(";127.0.0.1:80", post.expect(ZMQ_EVENT_BIND_FAILED).local);
    EXPECT_TRUE(fails_with(ENOENT, zmq_bind(socket, "ipc:///nosuchdirectory/socket")));
    EXPECT_EQ("ipc:///nosuchdirectory/socket", post.expect(ZMQ_EVENT_CLOSED).local);
    const told nowhere = post.expect(ZMQ_EVENT_BIND_FAILED);
    EXPECT_EQ(static_cast<std::uint64_t>(ENOENT), nowhere.values.at(0));
    EXPECT_EQ("/nosuchdirectory/socket", nowhere.local);
    // What is wrong by its text never came so far.
    EXPECT_TRUE(fails_with(EPROTONOSUPPORT, zmq_bind(socket, "foo://bar")));
    EXPECT_TRUE(post.quiet());
}

TEST_F(MonitorFailures, a_pending_connection_that_is_given_up_is_closed)
{
    // A listener whose backlog is full does not answer.
    raw_listener listener(0);
    std::vector<raw_peer> fillers;
    for (int index = 0; index < 4; ++index) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(listener.port()));
        ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
        fillers.emplace_back(fd);
    }
    test_socket socket(context_, ZMQ_DEALER);
    listening_post post(context_, socket);
    socket.connect(listener.endpoint());
    post.expect(ZMQ_EVENT_CONNECT_DELAYED);
    EXPECT_TRUE(post.quiet());
    socket.disconnect(listener.endpoint());
    post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_TRUE(post.quiet());
    socket.set(ZMQ_CONNECT_TIMEOUT, 30);
    socket.set(ZMQ_RECONNECT_IVL, 1000);
    socket.connect(listener.endpoint());
    post.expect(ZMQ_EVENT_CONNECT_DELAYED);
    post.expect(ZMQ_EVENT_CLOSED);
    post.expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST_F(MonitorFailures, a_source_address_that_is_not_ours_is_told_without_delay)
{
    test_socket socket(context_, ZMQ_DEALER);
    listening_post post(context_, socket);
    const std::string address = "tcp://192.0.2.1:0;127.0.0.1:5555";
    socket.connect(address);
    EXPECT_EQ(address, post.expect(ZMQ_EVENT_CLOSED).local);
    post.expect(ZMQ_EVENT_CONNECT_RETRIED);
}

TEST(MonitorIntervals, do_not_grow_without_a_maximum)
{
    constexpr std::uint64_t interval_ms = 10;
    test_context context;
    test_socket socket(context, ZMQ_DEALER);
    socket.set(ZMQ_RECONNECT_IVL, static_cast<int>(interval_ms));
    listening_post post(context, socket, ZMQ_EVENT_CONNECT_RETRIED);
    socket.connect(known_address(transport::tcp));
    for (int attempt = 0; attempt < 8; ++attempt) {
        const std::uint64_t waits_ms = post.next().values.at(0);
        EXPECT_LE(interval_ms, waits_ms);
        EXPECT_GT(2 * interval_ms, waits_ms);
    }
}

TEST_F(MonitorFailures, a_peer_that_waits_for_want_of_a_descriptor_is_told)
{
    if (has_address_sanitizer())
        GTEST_SKIP() << "see no_descriptors";
    test_socket socket(context_, ZMQ_DEALER);
    listening_post post(context_, socket, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED);
    const std::string endpoint = socket.bind_and_resolve("tcp://127.0.0.1:*");
    const raw_peer first(endpoint);
    first.recv(10); // greeted: by then the library is idle, with no descriptor about to come or go
    post.expect(ZMQ_EVENT_ACCEPTED);
    const raw_peer second(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port_of(endpoint)));
    {
        const no_descriptors none;
        ASSERT_EQ(
            0, ::connect(second.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
        EXPECT_EQ(static_cast<std::uint64_t>(EMFILE),
                  post.expect(ZMQ_EVENT_ACCEPT_FAILED).values.at(0));
    }
    told last = post.next();
    while (last.event == ZMQ_EVENT_ACCEPT_FAILED)
        last = post.next();
    EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_EVENT_ACCEPTED), last.event);
}

} // namespace
} // namespace zlink::test
