// SPDX-License-Identifier: Apache-2.0
// What is special about sockets of one context that talk to each other.
#include "support/fixture.hpp"

#include <thread>

namespace zlink::test {
namespace {

class Inproc : public ::testing::Test {
protected:
    test_context context_;
    std::string address_ = known_address(transport::inproc);
};

TEST_F(Inproc, may_be_connected_before_it_is_bound)
{
    test_socket source(context_, ZMQ_PUSH);
    source.connect(address_);
    source.send_parts({"early", "bird"});
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    EXPECT_EQ((parts{"early", "bird"}), sink.recv_parts());
}

TEST_F(Inproc, connects_many_waiting_peers_at_once)
{
    std::vector<test_socket> sources;
    for (int index = 0; index < 20; ++index) {
        sources.emplace_back(context_, ZMQ_PUSH);
        sources.back().connect(address_);
        sources.back().send("1");
    }
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    for (int index = 0; index < 20; ++index)
        EXPECT_EQ("1", sink.recv());
}

TEST_F(Inproc, forgets_a_waiting_peer_that_closed)
{
    {
        test_socket source(context_, ZMQ_PUSH);
        source.connect(address_);
        source.send("lost with LINGER 0");
    }
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    test_socket second(context_, ZMQ_PUSH);
    second.connect(address_);
    second.send("alive");
    while (sink.recv() != "alive") {
    }
}

TEST_F(Inproc, lets_the_reader_finish_after_the_writer_closed)
{
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    {
        test_socket source(context_, ZMQ_PUSH);
        source.set(ZMQ_LINGER, -1);
        source.connect(address_);
        for (int index = 0; index < 10; ++index)
            source.send(std::to_string(index));
    }
    for (int index = 0; index < 10; ++index)
        EXPECT_EQ(std::to_string(index), sink.recv());
    EXPECT_FALSE(sink.readable(quiet_window));
}

TEST_F(Inproc, does_not_reconnect_to_a_new_binder)
{
    test_socket source(context_, ZMQ_PUSH);
    test_socket first(context_, ZMQ_PULL);
    first.bind(address_);
    source.connect(address_);
    first.close();
    EXPECT_TRUE(wait_until([&] { return !source.try_send("x"); }));
    test_socket second(context_, ZMQ_PULL);
    ASSERT_TRUE(wait_until([&] { return zmq_bind(second, address_.c_str()) == 0; }));
    EXPECT_FALSE(source.writable(quiet_window));
    source.connect(address_);
    source.send("connected anew");
    EXPECT_EQ("connected anew", second.recv());
}

TEST_F(Inproc, does_not_check_the_types_of_the_peers)
{
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    test_socket source(context_, ZMQ_PAIR);
    source.connect(address_);
    source.send("accepted");
    EXPECT_EQ("accepted", sink.recv());
}

TEST_F(Inproc, tells_a_router_the_routing_id_of_its_peer)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.bind(address_);
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    dealer.connect(address_);
    dealer.send("hello");
    EXPECT_EQ((parts{"alice", "hello"}), router.recv_parts());
    router.send_parts({"alice", "welcome"});
    EXPECT_EQ("welcome", dealer.recv());
}

TEST_F(Inproc, tells_the_routing_id_when_connected_before_binding)
{
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "early");
    dealer.connect(address_);
    dealer.send("hello");
    test_socket router(context_, ZMQ_ROUTER);
    router.bind(address_);
    EXPECT_EQ((parts{"early", "hello"}), router.recv_parts());
}

TEST_F(Inproc, keeps_its_pipes_when_unbound)
{
    auto [bound, peer, address] = connect_pair(context_, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    bound.unbind(address);
    peer.send("still here");
    EXPECT_EQ("still here", bound.recv());
    bound.send("so am I");
    EXPECT_EQ("so am I", peer.recv());
}

TEST_F(Inproc, makes_another_connection_for_each_connect)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.bind(address_);
    test_socket source(context_, ZMQ_PUSH);
    source.connect(address_);
    source.connect(address_);
    source.send("x");
    source.send("x");
    EXPECT_NE(router.recv_parts().front(), router.recv_parts().front());
}

TEST_F(Inproc, connects_again_even_those_that_connect_once_over_wires)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.bind(address_);
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.connect(address_);
    dealer.connect(address_);
    dealer.send("x");
    dealer.send("x");
    EXPECT_NE(router.recv_parts().front(), router.recv_parts().front());
    const std::string other = known_address(transport::inproc);
    test_socket publisher(context_, ZMQ_PUB);
    publisher.bind(other);
    test_socket subscriber(context_, ZMQ_SUB);
    subscriber.set(ZMQ_SUBSCRIBE, "");
    subscriber.connect(other);
    subscriber.connect(other);
    publisher.send("twice");
    EXPECT_EQ("twice", subscriber.recv());
    EXPECT_EQ("twice", subscriber.recv());
}

// A reader that keeps up is waited for, so that little lies in memory; one that does not is not.
TEST_F(Inproc, large_messages_pass_whether_they_are_read_at_once_or_later)
{
    constexpr int count = 300;
    auto [sink, source, address] = connect_pair(context_, transport::inproc, ZMQ_PULL, ZMQ_PUSH);
    const std::string large(100'000, 'x');
    for (int index = 0; index < count; ++index)
        ASSERT_TRUE(source.try_send(large + std::to_string(index)));
    std::thread reading([&socket = sink, &large] {
        for (int index = 0; index < 2 * count; ++index)
            EXPECT_TRUE(socket.recv() == large + std::to_string(index)) << index;
    });
    for (int index = count; index < 2 * count; ++index)
        source.send(large + std::to_string(index));
    reading.join();
}

TEST_F(Inproc, ignores_immediate)
{
    test_socket source(context_, ZMQ_PUSH);
    source.set(ZMQ_IMMEDIATE, 1);
    source.connect(address_);
    EXPECT_TRUE(source.try_send("queued"));
}

TEST_F(Inproc, is_usable_from_two_threads_without_a_pause)
{
    constexpr int count = 50'000;
    auto [bound, peer, address] = connect_pair(context_, transport::inproc, ZMQ_PAIR, ZMQ_PAIR);
    std::thread echo([&socket = bound] {
        for (int index = 0; index < count; ++index)
            socket.send(socket.recv());
    });
    int sent = 0;
    for (int received = 0; received < count; ++received) {
        while (sent < count && sent - received < 100)
            peer.send(std::to_string(sent++));
        ASSERT_EQ(std::to_string(received), peer.recv());
    }
    echo.join();
}

} // namespace
} // namespace zlink::test
