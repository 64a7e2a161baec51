// SPDX-License-Identifier: Apache-2.0
// What is special about sockets of one context that talk to each other.
#include "support/fixture.hpp"

#include <atomic>
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

TEST_F(Inproc, delivers_what_was_sent_before_the_binding_by_sockets_that_closed)
{
    for (const int linger_ms : {-1, 0, 5000}) {
        test_socket source(context_, ZMQ_PUSH);
        source.set(ZMQ_LINGER, linger_ms);
        source.connect(address_);
        source.send_parts({"first", "part"});
        source.send(std::string(100'000, 'x'));
    }
    {
        test_socket unfinished(context_, ZMQ_PUSH);
        unfinished.connect(address_);
        ASSERT_EQ(1, zmq_send(unfinished, "x", 1, ZMQ_SNDMORE));
    }
    test_socket alive(context_, ZMQ_PUSH);
    alive.connect(address_);
    alive.send("alive");
    test_socket sink(context_, ZMQ_PULL);
    sink.bind(address_);
    int left = 0;
    for (int index = 0; index < 7; ++index) {
        const parts message = sink.recv_parts();
        left += message == parts{"first", "part"} || message == parts{std::string(100'000, 'x')};
    }
    EXPECT_EQ(6, left);
    EXPECT_FALSE(sink.readable(quiet_window));
    alive.send("again");
    EXPECT_EQ("again", sink.recv());
}

TEST_F(Inproc, delivers_what_was_sent_before_the_binding_to_an_endpoint_given_up)
{
    test_socket source(context_, ZMQ_DEALER);
    source.set(ZMQ_ROUTING_ID, "gone");
    source.connect(address_);
    source.send("1");
    source.send("2");
    ASSERT_EQ(0, zmq_disconnect(source, address_.c_str()));
    test_socket sink(context_, ZMQ_ROUTER);
    sink.bind(address_);
    EXPECT_EQ((parts{"gone", "1"}), sink.recv_parts());
    EXPECT_EQ((parts{"gone", "2"}), sink.recv_parts());
    EXPECT_FALSE(sink.readable(quiet_window));
    sink.set(ZMQ_ROUTER_MANDATORY, 1);
    EXPECT_EQ(-1, zmq_send(sink, "gone", 4, ZMQ_SNDMORE | ZMQ_DONTWAIT));
    EXPECT_EQ(EHOSTUNREACH, zmq_errno());
}

TEST_F(Inproc, gives_back_what_nobody_bound_for_when_the_context_ends)
{
    static std::atomic<int> given_back;
    given_back = 0;
    char body[10'000] = {};
    {
        test_context context;
        test_socket source(context, ZMQ_PUSH);
        source.connect(address_);
        zmq_msg_t message;
        ASSERT_EQ(0, zmq_msg_init_data(
                         &message, body, sizeof body, [](void*, void*) { ++given_back; }, nullptr));
        ASSERT_EQ(int{sizeof body}, zmq_msg_send(&message, source, 0));
        source.close();
        EXPECT_EQ(0, given_back);
    }
    EXPECT_EQ(1, given_back);
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
    ASSERT_TRUE(wait_until([&] { return second.try_bind(address_); }));
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
