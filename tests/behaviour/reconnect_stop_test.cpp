// SPDX-License-Identifier: Apache-2.0
// ZMQ_RECONNECT_STOP, ZMQ_HANDSHAKE_IVL and the intervals between attempts.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class ReconnectStop : public ::testing::Test {
protected:
    ReconnectStop()
    {
        socket_.set(ZMQ_RECONNECT_IVL, 5);
        socket_.set(ZMQ_LINGER, -1);
    }
    void stop_when(int condition) { socket_.set(ZMQ_RECONNECT_STOP, condition); }
    /// Closing does not wait for what can never be sent.
    void expect_an_end()
    {
        socket_.close();
        context_.term();
    }
    void expect_zmq_disconnect_to_give_up(const std::string& address)
    {
        stop_when(ZMQ_RECONNECT_STOP_AFTER_DISCONNECT);
        socket_.connect(address);
        socket_.send("given up with the endpoint");
        socket_.disconnect(address);
        // With the default linger time of this fixture the context would otherwise wait for ever.
        expect_an_end();
    }

    test_context context_;
    test_socket socket_{context_, ZMQ_PUSH};
};

/// Of ipc: nobody listens there any more, but the file is left.
std::string left_over_file()
{
    return raw_listener(transport::ipc).endpoint();
}

TEST_F(ReconnectStop, after_a_refused_connection)
{
    stop_when(ZMQ_RECONNECT_STOP_CONN_REFUSED);
    const std::string address = known_address(transport::tcp);
    socket_.connect(address);
    socket_.try_send("never delivered"); // taken if the endpoint is not gone yet
    // A second endpoint shows that the I/O thread has seen to the first one.
    test_socket other(context_, ZMQ_PULL);
    socket_.connect(other.bind_and_resolve("tcp://127.0.0.1:*"));
    ASSERT_TRUE(wait_until([&] {
        socket_.try_send("x");
        return other.readable(1ms);
    }));
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_FALSE(late.readable(100ms));
    other.close();
    late.close();
    expect_an_end();
}

TEST_F(ReconnectStop, after_zmq_disconnect)
{
    expect_zmq_disconnect_to_give_up(known_address(transport::tcp));
}

class ZlinkOnlyIpcReconnectStop : public ReconnectStop {};

TEST_F(ZlinkOnlyIpcReconnectStop, after_zmq_disconnect)
{
    expect_zmq_disconnect_to_give_up(known_address(transport::ipc));
}

TEST_F(ZlinkOnlyIpcReconnectStop, after_a_refused_connection)
{
    const std::string address = left_over_file();
    stop_when(ZMQ_RECONNECT_STOP_CONN_REFUSED);
    {
        listening_post post(context_, socket_, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED);
        socket_.connect(address);
        post.expect(ZMQ_EVENT_CLOSED);
        EXPECT_TRUE(post.quiet());
    }
    EXPECT_FALSE(socket_.try_send("never delivered"));
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_FALSE(late.readable(100ms));
    late.close();
    expect_an_end();
}

class ReconnectStopOver : public ReconnectStop, public ::testing::WithParamInterface<transport> {
    const link_in_use link_{GetParam()};
};
class ReconnectStopOnTheWire : public ReconnectStopOver {};

TEST_P(ReconnectStopOver, not_after_other_failures_than_those_named)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED | ZMQ_RECONNECT_STOP_AFTER_DISCONNECT);
    const std::string address =
        GetParam() == transport::ipc ? left_over_file() : known_address(GetParam());
    listening_post post(context_, socket_, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED);
    socket_.connect(address);
    post.expect(ZMQ_EVENT_CLOSED);
    post.expect(ZMQ_EVENT_CONNECT_RETRIED);
    socket_.send("delivered late");
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_EQ("delivered late", late.recv());
}

TEST_P(ReconnectStopOnTheWire, after_a_failed_handshake)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    const raw_listener listener(GetParam());
    socket_.connect(listener.endpoint());
    ASSERT_TRUE(listener.try_accept()); // and closed at once
    EXPECT_FALSE(listener.try_accept(100ms));
}

TEST_P(ReconnectStopOnTheWire, after_a_handshake_that_took_too_long)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    socket_.set(ZMQ_HANDSHAKE_IVL, 20);
    const raw_listener listener(GetParam());
    socket_.connect(listener.endpoint());
    const auto silent = listener.try_accept();
    ASSERT_TRUE(silent);
    EXPECT_EQ(10u, silent->recv(10).size());
    EXPECT_TRUE(silent->ended());
    EXPECT_FALSE(listener.try_accept(100ms));
}

TEST_P(ReconnectStopOnTheWire, without_it_a_failed_handshake_is_tried_again)
{
    const raw_listener listener(GetParam());
    socket_.connect(listener.endpoint());
    for (int round = 0; round < 3; ++round)
        ASSERT_TRUE(listener.try_accept());
}

TEST_P(ReconnectStopOver, a_lost_connection_is_no_failed_handshake)
{
    stop_when(ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    const std::string address = known_address(GetParam());
    socket_.connect(address);
    for (int round = 0; round < 2; ++round) {
        test_socket sink(context_, ZMQ_PULL);
        ASSERT_TRUE(wait_until([&] { return sink.try_bind(address); }));
        ASSERT_TRUE(wait_until([&] {
            socket_.try_send("again");
            return sink.readable(2ms);
        }));
    }
    socket_.set(ZMQ_LINGER, 0);
}

TEST_P(ReconnectStopOver, without_it_zmq_disconnect_lingers)
{
    const std::string address = known_address(GetParam());
    socket_.connect(address);
    socket_.send("still delivered");
    socket_.disconnect(address);
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_EQ("still delivered", late.recv());
}

ZLINK_WIRE_TRANSPORTS(ReconnectStopOver);
ZLINK_LINKS_WITH(ReconnectStopOnTheWire, has_plain_zmtp);

TEST_F(ReconnectStop, after_zmq_disconnect_only_if_that_was_wanted_at_the_connect)
{
    const std::string address = known_address(transport::tcp);
    socket_.connect(address);
    stop_when(ZMQ_RECONNECT_STOP_AFTER_DISCONNECT);
    socket_.send("still delivered");
    socket_.disconnect(address);
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_EQ("still delivered", late.recv());
}

TEST_F(ReconnectStop, after_a_refused_connection_only_if_that_was_wanted_at_the_connect)
{
    const std::string address = known_address(transport::tcp);
    socket_.connect(address);
    stop_when(ZMQ_RECONNECT_STOP_CONN_REFUSED);
    socket_.send("still delivered");
    listening_post post(context_, socket_, ZMQ_EVENT_CONNECT_RETRIED);
    for (int attempt = 0; attempt < 3; ++attempt)
        post.expect(ZMQ_EVENT_CONNECT_RETRIED);
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_EQ("still delivered", late.recv());
}

TEST_F(ReconnectStop, after_a_refused_connection_even_if_that_is_not_wanted_any_more)
{
    stop_when(ZMQ_RECONNECT_STOP_CONN_REFUSED);
    listening_post post(context_, socket_, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECT_RETRIED);
    const std::string address = known_address(transport::tcp);
    socket_.connect(address);
    stop_when(0);
    post.expect(ZMQ_EVENT_CLOSED);
    EXPECT_TRUE(post.quiet());
    test_socket late(context_, ZMQ_PULL);
    late.bind(address);
    EXPECT_FALSE(late.readable(quiet_window));
}

TEST_F(ReconnectStop, after_a_failed_handshake_as_was_wanted_at_the_connect)
{
    for (const auto& [at_connect, later] : {std::pair{ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED, 0},
                                            {0, ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED}}) {
        const raw_listener listener;
        stop_when(at_connect);
        socket_.connect(listener.endpoint());
        stop_when(later);
        ASSERT_TRUE(listener.try_accept()); // and closed at once
        if (at_connect != 0) {
            EXPECT_FALSE(listener.try_accept(100ms));
        } else {
            for (int attempt = 0; attempt < 3; ++attempt)
                EXPECT_TRUE(listener.try_accept()) << attempt;
        }
    }
}

TEST_F(ReconnectStop, zmq_disconnect_still_finishes_what_is_connected)
{
    stop_when(ZMQ_RECONNECT_STOP_AFTER_DISCONNECT);
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve("tcp://127.0.0.1:*");
    socket_.connect(address);
    socket_.send("first");
    EXPECT_EQ("first", sink.recv());
    for (int index = 0; index < 100; ++index)
        socket_.send(std::to_string(index));
    socket_.disconnect(address);
    for (int index = 0; index < 100; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
}

/// The times between the attempts to connect to a listener that hangs up.
std::vector<long> intervals_ms(test_socket& socket, std::size_t count)
{
    const raw_listener listener;
    socket.connect(listener.endpoint());
    std::vector<long> between;
    if (!listener.try_accept())
        return between;
    while (between.size() < count) {
        const stopwatch clock;
        if (!listener.try_accept())
            break;
        between.push_back(clock.elapsed_ms());
    }
    return between;
}

// Where libzmq begins anew, however short the connection was.
TEST(ZlinkOnlyReconnectIntervals, grow_while_no_handshake_succeeds)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_RECONNECT_IVL, 20);
    socket.set(ZMQ_RECONNECT_IVL_MAX, 10'000);
    const auto between = intervals_ms(socket, 5);
    ASSERT_EQ(5u, between.size());
    EXPECT_GE(between.back(), 250); // the last one is 320 ms
}

class GrownReconnectInterval : public transport_test {};

TEST_P(GrownReconnectInterval, is_the_first_one_again_after_a_connection)
{
    test_socket client(context_, ZMQ_DEALER);
    client.set(ZMQ_RECONNECT_IVL, 10);
    client.set(ZMQ_RECONNECT_IVL_MAX, 80);
    listening_post post(context_, client,
                        ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    const std::string address = known_address(GetParam());
    client.connect(address);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(10u, post.expect(ZMQ_EVENT_CONNECT_RETRIED).values.at(0)) << round;
        while (post.next().values.at(0) != 80u) { // may find a listener that is about to close
        }
        test_socket server(context_, ZMQ_DEALER);
        ASSERT_TRUE(wait_until([&] { return server.try_bind(address); }));
        told last = post.next();
        while (last.event == ZMQ_EVENT_CONNECT_RETRIED)
            last = post.next();
        EXPECT_EQ(static_cast<std::uint64_t>(ZMQ_EVENT_HANDSHAKE_SUCCEEDED), last.event);
    }
}

ZLINK_WIRE_TRANSPORTS(GrownReconnectInterval);

TEST(ReconnectIntervals, are_the_maximum_where_that_is_less)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_RECONNECT_IVL, 100'000);
    socket.set(ZMQ_RECONNECT_IVL_MAX, 10);
    EXPECT_EQ(3u, intervals_ms(socket, 3).size());
}

TEST(ReconnectIntervals, of_nothing_mean_no_reconnection)
{
    test_context context;
    for (const int none : {0, -1}) {
        test_socket socket(context, ZMQ_PUSH);
        socket.set(ZMQ_RECONNECT_IVL, none);
        const raw_listener listener;
        socket.connect(listener.endpoint());
        ASSERT_TRUE(listener.try_accept());
        EXPECT_FALSE(listener.try_accept(quiet_window));
    }
}

TEST(ReconnectIntervals, of_nothing_leave_nobody_to_send_to_after_a_connection)
{
    test_context context;
    for (const int none : {0, -1}) {
        test_socket socket(context, ZMQ_PUSH);
        socket.set(ZMQ_RECONNECT_IVL, none);
        listening_post post(context, socket);
        const raw_listener listener;
        socket.connect(listener.endpoint());
        {
            const raw_peer peer = listener.accept();
            zmtp::shake_hands(peer, "PULL");
        }
        while (post.next().event != ZMQ_EVENT_DISCONNECTED) {
        }
        EXPECT_TRUE(post.quiet());
        EXPECT_FALSE(socket.try_send("x"));
    }
}

TEST(HandshakeInterval, ends_a_silent_connection_and_tries_again)
{
    test_context context;
    test_socket socket(context, ZMQ_PUSH);
    socket.set(ZMQ_HANDSHAKE_IVL, 20);
    socket.set(ZMQ_RECONNECT_IVL, 5);
    const raw_listener listener;
    socket.connect(listener.endpoint());
    for (int round = 0; round < 3; ++round) {
        const auto silent = listener.try_accept();
        ASSERT_TRUE(silent);
        EXPECT_EQ(10u, silent->recv(10).size());
        EXPECT_TRUE(silent->ended());
    }
}

TEST(HandshakeInterval, ends_silent_peers_of_a_listener_too)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    socket.set(ZMQ_HANDSHAKE_IVL, 20);
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    const auto silent = raw_peer(address);
    EXPECT_EQ(10u, silent.recv_at_most(10).size());
    EXPECT_TRUE(silent.ended());
}

TEST(HandshakeInterval, of_nothing_waits_for_ever)
{
    test_context context;
    test_socket socket(context, ZMQ_PULL);
    socket.set(ZMQ_HANDSHAKE_IVL, 0);
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    const auto silent = raw_peer(address);
    EXPECT_EQ(10u, silent.recv_at_most(10).size());
    EXPECT_FALSE(silent.ended(quiet_window));
}

} // namespace
} // namespace zlink::test
