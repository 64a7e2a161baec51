// SPDX-License-Identifier: Apache-2.0
// PAIR: one peer, both directions.
#include "support/listening_post.hpp"

#include <thread>

namespace zlink::test {
namespace {

class Pair : public transport_test {};

TEST_P(Pair, delivers_in_order_both_ways)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    for (int index = 0; index < 200; ++index) {
        bound.send("down " + std::to_string(index));
        peer.send("up " + std::to_string(index));
    }
    for (int index = 0; index < 200; ++index) {
        EXPECT_EQ("down " + std::to_string(index), peer.recv());
        EXPECT_EQ("up " + std::to_string(index), bound.recv());
    }
}

TEST_P(Pair, keeps_parts_together)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const parts message{"", "a", std::string(100'000, 'b'), "", "c"};
    peer.send_parts(message);
    peer.send("single");
    EXPECT_EQ(message, bound.recv_parts());
    EXPECT_EQ(parts{"single"}, bound.recv_parts());
}

TEST_P(Pair, gets_nothing_from_a_second_peer)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    test_socket second(context_, ZMQ_PAIR);
    second.connect(address);
    second.try_send("from the second");
    EXPECT_FALSE(bound.readable(quiet_window));
    peer.send("from the first");
    EXPECT_EQ("from the first", bound.recv());
    bound.send("to the first");
    EXPECT_EQ("to the first", peer.recv());
    EXPECT_FALSE(second.readable(std::chrono::milliseconds(5)));
}

TEST_P(Pair, accepts_another_peer_after_the_first_has_left)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    const std::string where = address;
    peer.close();
    // Until the bound side has noticed the end of its first peer, it turns others away.
    ASSERT_TRUE(wait_until([&, &socket = bound] {
        test_socket next(context_, ZMQ_PAIR);
        next.connect(where);
        next.send("I am the next");
        if (!socket.readable(std::chrono::milliseconds(50)))
            return false;
        EXPECT_EQ("I am the next", socket.recv());
        socket.send("welcome");
        EXPECT_EQ("welcome", next.recv());
        return true;
    }));
}

TEST_P(Pair, moves_large_messages_both_ways_at_once)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    constexpr int count = 50;
    const std::string body(300'000, 'L');
    const auto exchange = [&body](test_socket& socket) {
        for (int index = 0; index < count; ++index)
            socket.send(body);
        for (int index = 0; index < count; ++index)
            EXPECT_EQ(body, socket.recv());
    };
    std::thread other([&, &socket = peer] { exchange(socket); });
    exchange(bound);
    other.join();
}

TEST_P(Pair, ping_pong)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    std::thread echo([&socket = bound] {
        for (int index = 0; index < 1000; ++index)
            socket.send(socket.recv());
    });
    for (int index = 0; index < 1000; ++index) {
        peer.send(std::to_string(index));
        EXPECT_EQ(std::to_string(index), peer.recv());
    }
    echo.join();
}

ZLINK_ALL_TRANSPORTS(Pair);

// libzmq turns others away until a call on the socket has noticed the end of the first peer.
class ZlinkOnlyPair : public transport_test {};

TEST_P(ZlinkOnlyPair, takes_the_next_peer_when_it_hears_of_both_at_once)
{
    test_socket bound(context_, ZMQ_PAIR);
    listening_post post(context_, bound, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    {
        test_socket first(context_, ZMQ_PAIR);
        first.connect(address);
        post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    }
    post.expect(ZMQ_EVENT_DISCONNECTED);
    test_socket next(context_, ZMQ_PAIR);
    next.connect(address);
    post.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    next.send("I am the next");
    EXPECT_EQ("I am the next", bound.recv());
    bound.send("welcome");
    EXPECT_EQ("welcome", next.recv());
}

ZLINK_WIRE_TRANSPORTS(ZlinkOnlyPair);

} // namespace
} // namespace zlink::test
