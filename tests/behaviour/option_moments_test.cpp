// SPDX-License-Identifier: Apache-2.0
// From which moment on an option counts: for the life of an endpoint, for the next peer, once.
#define ZMQ_BUILD_DRAFT_API 1
#include "support/fixture.hpp"
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <utility>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// --- what a connecting endpoint does on its first connection and on those that follow -----------

constexpr int connections = 2;

configuration with(int option, int value)
{
    return [=](test_socket& socket) { socket.set(option, value); };
}

/// A socket under test, whose options are changed as soon as it connects, and the listener that it
/// connects to.
struct calling_end {
    calling_end(test_context& context, int type, const configuration& at_connect,
                const configuration& later)
        : socket(context, type)
    {
        socket.set(ZMQ_RECONNECT_IVL, 5);
        at_connect(socket);
        socket.connect(listener.endpoint());
        later(socket);
    }
    /// Its next connection, to a PUSH that has shaken hands.
    raw_peer next_push() const
    {
        raw_peer peer = listener.accept();
        zmtp::shake_hands(peer, "PUSH");
        return peer;
    }

    raw_listener listener;
    test_socket socket;
};

class ConnectingEndpoint : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(ConnectingEndpoint, takes_messages_as_large_as_was_allowed_at_the_connect)
{
    const calling_end at(
        context_, ZMQ_PULL, [](test_socket& socket) { limit_messages(socket, 100); },
        [](test_socket& socket) { limit_messages(socket, 99); });
    for (int connection = 0; connection < connections; ++connection) {
        const raw_peer peer = at.next_push();
        peer.send(zmtp::frame(std::string(100, 'x')));
        ASSERT_TRUE(at.socket.readable()) << connection;
        char body[200];
        EXPECT_EQ(100, zmq_recv(at.socket, body, sizeof body, 0));
    }
}

TEST_F(ConnectingEndpoint, takes_no_larger_messages_than_were_allowed_at_the_connect)
{
    for (int good_connections = 0; good_connections < connections; ++good_connections) {
        const calling_end at(
            context_, ZMQ_PULL, [](test_socket& socket) { limit_messages(socket, 100); },
            [](test_socket& socket) { limit_messages(socket, -1); });
        for (int connection = 0; connection < good_connections; ++connection)
            at.next_push();
        const raw_peer peer = at.next_push();
        peer.send(zmtp::frame(std::string(101, 'x')));
        EXPECT_TRUE(peer.ended()) << good_connections;
        EXPECT_FALSE(at.socket.readable(0ms)) << good_connections;
    }
}

TEST_F(ConnectingEndpoint, sends_heartbeats_as_was_wanted_at_the_connect)
{
    const calling_end at(
        context_, ZMQ_PULL,
        [](test_socket& socket) {
            socket.set(ZMQ_HEARTBEAT_IVL, 10);
            socket.set(ZMQ_HEARTBEAT_TTL, 200);
            socket.set(ZMQ_HEARTBEAT_TIMEOUT, 5'000);
        },
        [](test_socket& socket) {
            socket.set(ZMQ_HEARTBEAT_IVL, 0);
            socket.set(ZMQ_HEARTBEAT_TTL, 300);
        });
    for (int connection = 0; connection < connections; ++connection) {
        const raw_peer peer = at.next_push();
        for (int beat = 0; beat < 3; ++beat)
            EXPECT_EQ(zmtp::ping(2), zmtp::recv_frame(peer)) << connection;
    }
}

TEST_F(ConnectingEndpoint, sends_no_heartbeats_that_are_wanted_after_the_connect)
{
    const calling_end at(
        context_, ZMQ_PULL, [](test_socket&) {}, with(ZMQ_HEARTBEAT_IVL, 10));
    for (int connection = 0; connection < connections; ++connection)
        EXPECT_EQ("", at.next_push().recv_at_most(1, quiet_window)) << connection;
}

TEST_F(ConnectingEndpoint, waits_for_answers_to_heartbeats_as_long_as_was_wanted_at_the_connect)
{
    const std::size_t many_beats = 100 * zmtp::ping().size();
    for (const auto& [at_connect_ms, later_ms] : {std::pair{30, 5'000}, {5'000, 1}}) {
        const calling_end at(
            context_, ZMQ_PULL,
            [timeout_ms = at_connect_ms](test_socket& socket) {
                socket.set(ZMQ_HEARTBEAT_IVL, 10);
                socket.set(ZMQ_HEARTBEAT_TIMEOUT, timeout_ms);
            },
            with(ZMQ_HEARTBEAT_TIMEOUT, later_ms));
        for (int connection = 0; connection < connections; ++connection) {
            const raw_peer peer = at.next_push();
            if (at_connect_ms < later_ms) {
                EXPECT_GT(many_beats, peer.recv_at_most(many_beats).size()) << connection;
            } else {
                for (int beat = 0; beat < 5; ++beat)
                    ASSERT_EQ(zmtp::ping(), zmtp::recv_frame(peer)) << connection;
            }
        }
    }
}

TEST_F(ConnectingEndpoint, gives_handshakes_the_time_of_the_connect)
{
    constexpr int short_ms = 20;
    for (const auto& [at_connect_ms, later_ms] :
         {std::pair{short_ms, 0}, {short_ms, 30'000}, {0, short_ms}, {30'000, short_ms}}) {
        const calling_end at(context_, ZMQ_PULL, with(ZMQ_HANDSHAKE_IVL, at_connect_ms),
                             with(ZMQ_HANDSHAKE_IVL, later_ms));
        const bool ends = at_connect_ms == short_ms;
        for (int connection = 0; connection < connections; ++connection) {
            const raw_peer silent = at.listener.accept();
            EXPECT_EQ(10u, silent.recv_at_most(10).size());
            ASSERT_EQ(ends, silent.ended(ends ? patience : quiet_window))
                << at_connect_ms << " ms, then " << later_ms << " ms, connection " << connection;
        }
    }
}

/// READY of a PULL socket.
std::string ready_from(const raw_peer& peer)
{
    zmtp::play(peer, {zmtp::greeting(), zmtp::ready("PUSH")});
    return zmtp::recv_frame(peer);
}

TEST_F(ConnectingEndpoint, tells_every_peer_the_metadata_of_the_connect)
{
    const calling_end at(
        context_, ZMQ_PULL, [](test_socket& socket) { socket.set(ZMQ_METADATA, "X-early:value"); },
        [](test_socket& socket) { socket.set(ZMQ_METADATA, "X-late:value"); });
    for (int connection = 0; connection < connections; ++connection)
        EXPECT_EQ(zmtp::ready("PULL", zmtp::property("X-early", "value")),
                  ready_from(at.listener.accept()))
            << connection;
}

class BoundMetadata : public transport_test {};

TEST_P(BoundMetadata, is_that_of_the_bind_for_peers_that_come_later)
{
    test_socket socket(context_, ZMQ_PULL);
    socket.set(ZMQ_METADATA, "X-early:value");
    const std::string address = socket.bind_and_resolve(fresh_bind_address(GetParam()));
    socket.set(ZMQ_METADATA, "X-late:value");
    EXPECT_EQ(zmtp::ready("PULL", zmtp::property("X-early", "value")),
              ready_from(raw_peer(address)));
}

ZLINK_LINKS_WITH(BoundMetadata, has_plain_zmtp);

/// A length and what it counts.
std::string recv_counted(const raw_peer& from)
{
    const std::string size = from.recv(1);
    return size + from.recv(static_cast<unsigned char>(size[0]));
}

/// What a client of a SOCKS proxy says of itself, which is not accepted.
std::string rejected_credentials(const raw_peer& client)
{
    client.recv(1);
    recv_counted(client);
    client.send("\5\2"s);
    std::string credentials = client.recv(1);
    for (int field = 0; field < 2; ++field)
        credentials += recv_counted(client);
    client.send("\1\1"s);
    client.recv_to_end();
    return credentials;
}

using ZlinkOnlyConnectingEndpoint = ConnectingEndpoint;

// The genuine library ends the process some time after a proxy has rejected it.
TEST_F(ZlinkOnlyConnectingEndpoint, tells_the_proxy_the_name_and_password_of_the_connect)
{
    const raw_listener proxy;
    const calling_end at(
        context_, ZMQ_PUSH,
        [&](test_socket& socket) {
            socket.set(ZMQ_SOCKS_PROXY, proxy.host_port());
            socket.set(ZMQ_SOCKS_USERNAME, "me");
            socket.set(ZMQ_SOCKS_PASSWORD, "secret");
        },
        [](test_socket& socket) {
            socket.set(ZMQ_SOCKS_USERNAME, "another");
            socket.set(ZMQ_SOCKS_PASSWORD, "");
            ASSERT_EQ(0, zmq_setsockopt(socket, ZMQ_SOCKS_PROXY, nullptr, 0));
        });
    for (int attempt = 0; attempt < 3; ++attempt)
        EXPECT_EQ("\1\2me\6secret"s, rejected_credentials(proxy.accept())) << attempt;
    EXPECT_FALSE(at.listener.has_caller(0ms));
}

TEST_F(ConnectingEndpoint, waits_for_a_connection_as_long_as_was_wanted_at_the_connect)
{
    constexpr int short_ms = 20;
    for (const auto& [at_connect_ms, later_ms] : {std::pair{short_ms, 0}, {0, short_ms}}) {
        const raw_listener listener(0);
        test_socket socket(context_, ZMQ_PUSH);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        socket.set(ZMQ_CONNECT_TIMEOUT, at_connect_ms);
        listening_post post(context_, socket, ZMQ_EVENT_CONNECT_RETRIED);
        socket.connect(listener.endpoint());
        socket.set(ZMQ_CONNECT_TIMEOUT, later_ms);
        raw_peer first = listener.accept();
        // Nobody else is answered while this one waits to be accepted.
        const raw_peer filler(listener.endpoint());
        first.close();
        post.expect(ZMQ_EVENT_CONNECT_RETRIED);
        if (at_connect_ms == short_ms) {
            for (int attempt = 0; attempt < 3; ++attempt)
                post.expect(ZMQ_EVENT_CONNECT_RETRIED);
        } else {
            EXPECT_TRUE(post.quiet());
        }
    }
}

/// The times that a socket waits between its first attempts to connect to nobody.
std::vector<std::uint64_t> announced_intervals_ms(test_context& context, int max_at_connect_ms,
                                                  int max_later_ms)
{
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_RECONNECT_IVL, 10);
    socket.set(ZMQ_RECONNECT_IVL_MAX, max_at_connect_ms);
    listening_post post(context, socket, ZMQ_EVENT_CONNECT_RETRIED);
    socket.connect(known_address(transport::tcp));
    socket.set(ZMQ_RECONNECT_IVL_MAX, max_later_ms);
    std::vector<std::uint64_t> intervals_ms;
    for (int attempt = 0; attempt < 4; ++attempt)
        intervals_ms.push_back(post.next().values.at(0));
    return intervals_ms;
}

TEST_F(ConnectingEndpoint, lets_intervals_grow_to_the_maximum_of_the_connect)
{
    const std::vector<std::uint64_t> expected{10, 20, 40, 40};
    for (const int later_ms : {0, 20, 10'000})
        EXPECT_EQ(expected, announced_intervals_ms(context_, 40, later_ms)) << later_ms;
}

TEST_F(ConnectingEndpoint, lets_no_intervals_grow_to_a_maximum_set_after_the_connect)
{
    // Without a maximum they are spread over twice the interval.
    for (const std::uint64_t interval_ms : announced_intervals_ms(context_, 0, 10'000))
        EXPECT_GT(20u, interval_ms);
}

class Ipv6Endpoint : public ::testing::Test {
protected:
    void SetUp() override
    {
        test_socket probe(context_, ZMQ_PULL);
        probe.set(ZMQ_IPV6, 1);
        if (zmq_bind(probe, "tcp://[::1]:*") != 0)
            GTEST_SKIP() << "no IPv6 loopback here";
        address_ = probe.last_endpoint();
    }
    test_socket source(int ipv6_at_connect, int ipv6_later)
    {
        test_socket socket(context_, ZMQ_PUSH);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        socket.set(ZMQ_IPV6, ipv6_at_connect);
        socket.connect(address_);
        socket.set(ZMQ_IPV6, ipv6_later);
        return socket;
    }
    test_socket sink()
    {
        test_socket socket(context_, ZMQ_PULL);
        socket.set(ZMQ_IPV6, 1);
        if (!wait_until([&] { return socket.try_bind(address_); }))
            throw call_failed("zmq_bind " + address_);
        return socket;
    }

    test_context context_;
    std::string address_;
};

TEST_F(Ipv6Endpoint, is_reached_again_and_again_if_it_was_allowed_at_the_connect)
{
    test_socket sender = source(1, 0);
    for (int connection = 0; connection < connections; ++connection) {
        const test_socket receiver = sink();
        EXPECT_TRUE(wait_until([&] {
            sender.try_send("x");
            return receiver.readable(2ms);
        })) << connection;
    }
}

TEST_F(Ipv6Endpoint, is_not_reached_if_it_was_allowed_after_the_connect)
{
    test_socket sender = source(0, 1);
    const test_socket receiver = sink();
    sender.send("x");
    EXPECT_FALSE(receiver.readable(quiet_window));
}

// --- probes -----------------------------------------------------------------------------------

class ProbeMoments : public transport_test {
protected:
    test_socket prober(int type)
    {
        test_socket socket(context_, type);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        socket.set(ZMQ_ROUTING_ID, "prober");
        return socket;
    }
    test_socket bound_at(const std::string& address, int type = ZMQ_ROUTER)
    {
        test_socket socket(context_, type);
        if (!wait_until([&] { return socket.try_bind(address); }))
            throw call_failed("zmq_bind " + address);
        return socket;
    }
};

struct probing_type {
    int type;
    int peer;
    parts probe; ///< as the peer receives it
};
const probing_type probing_types[] = {
    {ZMQ_DEALER, ZMQ_ROUTER, {"prober", ""}},
    {ZMQ_REQ, ZMQ_ROUTER, {"prober", ""}},
    {ZMQ_ROUTER, ZMQ_ROUTER, {"prober", ""}},
    {ZMQ_REP, ZMQ_DEALER, {""}},
};

TEST_P(ProbeMoments, those_who_come_after_it_was_switched_on_are_probed)
{
    for (const auto& [type, peer_type, probe] : probing_types) {
        test_socket socket = prober(type);
        const std::string address = socket.bind_and_resolve(fresh_bind_address(GetParam()));
        socket.set(ZMQ_PROBE_ROUTER, 1);
        test_socket peer(context_, peer_type);
        peer.connect(address);
        ASSERT_TRUE(wait_until([&] { return socket.events() >= 0 && peer.readable(1ms); })) << type;
        EXPECT_EQ(probe, peer.recv_parts()) << type;
    }
}

/// Sends something to the peer that a socket connects to and that is bound already.
void say_something(test_socket& socket, int type, test_socket& peer)
{
    if (type == ZMQ_ROUTER) {
        socket.send_parts({"peer", "something"});
    } else if (type == ZMQ_REP) {
        peer.send_parts({"", "question"});
        EXPECT_EQ("question", socket.recv());
        socket.send("something");
    } else {
        socket.send("something");
    }
}

TEST_P(ProbeMoments, a_peer_is_not_probed_when_it_is_switched_on_after_the_connect)
{
    for (const auto& [type, peer_type, probe] : probing_types) {
        const std::string address = known_address(GetParam());
        test_socket socket = prober(type);
        if (type == ZMQ_ROUTER)
            socket.set(ZMQ_CONNECT_ROUTING_ID, "peer");
        socket.connect(address);
        socket.set(ZMQ_PROBE_ROUTER, 1);
        test_socket peer = bound_at(address, peer_type);
        say_something(socket, type, peer);
        EXPECT_EQ("something", peer.recv_parts().back()) << type;
        EXPECT_FALSE(peer.readable(quiet_window)) << type;
    }
}

ZLINK_ALL_TRANSPORTS(ProbeMoments);

class ProbeAgain : public ProbeMoments {};

TEST_P(ProbeAgain, there_is_none_when_the_connection_is_made_again)
{
    const std::string address = known_address(GetParam());
    test_socket dealer = prober(ZMQ_DEALER);
    dealer.set(ZMQ_PROBE_ROUTER, 1);
    dealer.connect(address);
    EXPECT_EQ((parts{"prober", ""}), bound_at(address).recv_parts());
    test_socket restarted = bound_at(address);
    ASSERT_TRUE(wait_until([&] {
        dealer.try_send("first");
        return restarted.readable(2ms);
    }));
    EXPECT_EQ((parts{"prober", "first"}), restarted.recv_parts());
}

TEST_P(ProbeAgain, there_is_one_for_each_connection_if_messages_wait_for_those)
{
    const std::string address = known_address(GetParam());
    test_socket dealer = prober(ZMQ_DEALER);
    dealer.set(ZMQ_PROBE_ROUTER, 1);
    dealer.set(ZMQ_IMMEDIATE, 1);
    dealer.connect(address);
    for (int connection = 0; connection < 3; ++connection) {
        test_socket router = bound_at(address);
        ASSERT_TRUE(wait_until([&] { return dealer.events() >= 0 && router.readable(1ms); }))
            << connection;
        EXPECT_EQ((parts{"prober", ""}), router.recv_parts()) << connection;
    }
}

ZLINK_WIRE_TRANSPORTS(ProbeAgain);

// --- names for the next connection --------------------------------------------------------------

class NameOfNextConnection : public transport_test {
protected:
    NameOfNextConnection()
    {
        called_.set(ZMQ_ROUTING_ID, "announced");
        router_.set(ZMQ_ROUTING_ID, "router");
        router_.set(ZMQ_ROUTER_MANDATORY, 1);
        router_.set(ZMQ_RECONNECT_IVL, 5);
    }
    std::string bind(test_socket& socket)
    {
        return socket.bind_and_resolve(fresh_bind_address(GetParam()));
    }
    void expect_exchange(const std::string& name)
    {
        EXPECT_EQ((parts{"router", "question"}), called_.recv_parts());
        called_.send_parts({"router", "answer"});
        EXPECT_EQ((parts{name, "answer"}), router_.recv_parts());
    }

    test_socket called_{context_, ZMQ_ROUTER};
    test_socket router_{context_, ZMQ_ROUTER};
};

TEST_P(NameOfNextConnection, is_kept_while_addresses_are_refused)
{
    router_.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    for (const char* refused : {"no address", "tcp://127.0.0.1", "tcp://127.0.0.1:port", "tcp://"})
        EXPECT_TRUE(fails_with(EINVAL, zmq_connect(router_, refused))) << refused;
    router_.connect(bind(called_));
    router_.send_parts({"chosen", "question"});
    expect_exchange("chosen");
}

TEST_P(NameOfNextConnection, is_not_for_those_who_come_to_a_bound_address)
{
    router_.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    test_socket comer(context_, ZMQ_DEALER);
    comer.set(ZMQ_ROUTING_ID, "comer");
    comer.connect(bind(router_));
    comer.send("x");
    EXPECT_EQ((parts{"comer", "x"}), router_.recv_parts());
    router_.connect(bind(called_));
    router_.send_parts({"chosen", "question"});
    expect_exchange("chosen");
}

TEST_P(NameOfNextConnection, is_known_before_anybody_is_bound_there)
{
    const std::string address = known_address(GetParam());
    router_.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    router_.connect(address);
    router_.send_parts({"chosen", "question"});
    called_.bind(address);
    expect_exchange("chosen");
}

TEST_P(NameOfNextConnection, may_have_more_bytes_than_an_announced_one)
{
    for (const std::size_t bytes : {256, 1'000, 70'000}) {
        test_socket called(context_, ZMQ_ROUTER);
        std::swap(called_, called);
        const std::string name(bytes, 'n');
        router_.set(ZMQ_CONNECT_ROUTING_ID, name);
        router_.connect(bind(called_));
        router_.send_parts({name, "question"});
        expect_exchange(name);
    }
}

ZLINK_ALL_TRANSPORTS(NameOfNextConnection);

// --- options that change nothing ----------------------------------------------------------------

class ConflateWithoutEffect : public transport_test {
protected:
    static constexpr int messages = 100;

    /// All messages arrive, though nobody reads before the last was sent.
    static void expect_all(test_socket& sender, test_socket& receiver, const parts& sent_to = {},
                           const parts& received_from = {})
    {
        const auto behind = [](parts prefix, int index) {
            prefix.push_back(std::to_string(index));
            return prefix;
        };
        for (int index = 0; index < messages; ++index)
            sender.send_parts(behind(sent_to, index));
        for (int index = 0; index < messages; ++index)
            ASSERT_EQ(behind(received_from, index), receiver.recv_parts());
    }
};

TEST_P(ConflateWithoutEffect, on_pair)
{
    const configuration conflate = with(ZMQ_CONFLATE, 1);
    auto [bound, peer, address] =
        connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR, conflate, conflate);
    expect_all(bound, peer);
    expect_all(peer, bound);
}

TEST_P(ConflateWithoutEffect, on_router)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_CONFLATE, 1);
    test_socket dealer(context_, ZMQ_DEALER); // which would conflate
    dealer.set(ZMQ_ROUTING_ID, "dealer");
    dealer.connect(router.bind_and_resolve(fresh_bind_address(GetParam())));
    expect_all(dealer, router, {}, {"dealer"});
    expect_all(router, dealer, {"dealer"}, {});
}

TEST_P(ConflateWithoutEffect, on_xpub_and_xsub)
{
    test_socket publisher(context_, ZMQ_XPUB);
    test_socket subscriber(context_, ZMQ_XSUB);
    for (test_socket* socket : {&publisher, &subscriber})
        socket->set(ZMQ_CONFLATE, 1);
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    subscriber.send("\1"s);
    EXPECT_EQ("\1"s, publisher.recv());
    expect_all(publisher, subscriber);
    expect_all(subscriber, publisher);
}

ZLINK_ALL_TRANSPORTS(ConflateWithoutEffect);

TEST(ContextOptionMoments, sockets_keep_the_settings_of_the_time_when_they_were_made)
{
    struct {
        int of_context;
        int of_socket;
        std::pair<int, int> off; ///< set in the context, and what the socket has then
        std::pair<int, int> on;
    } const settings[] = {{ZMQ_BLOCKY, ZMQ_LINGER, {0, 0}, {1, -1}},
                          {ZMQ_IPV6, ZMQ_IPV6, {0, 0}, {1, 1}}};
    for (const auto& setting : settings)
        for (const auto& [before, after] :
             {std::pair{setting.off, setting.on}, {setting.on, setting.off}}) {
            test_context context;
            ASSERT_EQ(0, zmq_ctx_set(context, setting.of_context, before.first));
            const test_socket socket = test_socket::with_defaults(context, ZMQ_DEALER);
            ASSERT_EQ(0, zmq_ctx_set(context, setting.of_context, after.first));
            const test_socket newer = test_socket::with_defaults(context, ZMQ_DEALER);
            EXPECT_EQ(before.second, socket.get(setting.of_socket)) << setting.of_context;
            EXPECT_EQ(after.second, newer.get(setting.of_socket)) << setting.of_context;
        }
}

} // namespace
} // namespace zlink::test
