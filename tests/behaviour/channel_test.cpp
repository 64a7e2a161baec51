// SPDX-License-Identifier: Apache-2.0
// CHANNEL: one peer, messages of one part.
#include "support/draft.hpp"

#include <thread>

namespace zlink::test {
namespace {

class Channel : public transport_test {};

TEST_P(Channel, delivers_in_order_both_ways)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_CHANNEL, ZMQ_CHANNEL);
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

TEST_P(Channel, takes_messages_of_one_part_only)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_CHANNEL, ZMQ_CHANNEL);
    EXPECT_TRUE(fails_with(EINVAL, zmq_send(peer, "x", 1, ZMQ_SNDMORE)));
    peer.send("whole");
    EXPECT_EQ("whole", bound.recv());
}

TEST_P(Channel, gets_nothing_from_a_second_peer)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_CHANNEL, ZMQ_CHANNEL);
    peer.send("hello");
    EXPECT_EQ("hello", bound.recv());
    test_socket second(context_, ZMQ_CHANNEL);
    second.connect(address);
    second.try_send("from the second");
    EXPECT_FALSE(bound.readable(quiet_window));
    bound.send("to the first");
    EXPECT_EQ("to the first", peer.recv());
}

TEST_P(Channel, accepts_another_peer_after_the_first_has_left)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_CHANNEL, ZMQ_CHANNEL);
    const std::string where = address;
    peer.send("I am the first");
    EXPECT_EQ("I am the first", bound.recv());
    peer.close();
    ASSERT_TRUE(wait_until([&, &socket = bound] {
        test_socket next(context_, ZMQ_CHANNEL);
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

TEST_P(Channel, waits_without_a_peer)
{
    test_socket lonely(context_, ZMQ_CHANNEL);
    EXPECT_FALSE(lonely.try_send("x"));
    EXPECT_EQ(0, lonely.events());
    lonely.bind(fresh_bind_address(GetParam()));
    EXPECT_FALSE(lonely.try_send("x"));
}

ZLINK_ALL_TRANSPORTS(Channel);

TEST(ChannelInproc, drops_messages_of_several_parts_whole)
{
    test_context context;
    test_socket channel(context, ZMQ_CHANNEL);
    channel.bind("inproc://parts");
    test_socket pair(context, ZMQ_PAIR); // nobody checks types within a process
    pair.connect("inproc://parts");
    pair.send_parts({"a", "b"});
    pair.send("whole");
    EXPECT_EQ("whole", channel.recv());
}

} // namespace
} // namespace zlink::test
