// SPDX-License-Identifier: Apache-2.0
// A message of several parts arrives as a whole or not at all.
#include "support/fixture.hpp"

#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class Multipart : public transport_test {};
class ZlinkOnlyMultipart : public Multipart {};

TEST_P(Multipart, is_invisible_until_its_last_part_was_sent)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send("first", ZMQ_SNDMORE);
    peer.send(std::string(50'000, 'm'), ZMQ_SNDMORE);
    EXPECT_FALSE(bound.readable(quiet_window));
    peer.send("last");
    EXPECT_EQ(3u, bound.recv_parts().size());
}

TEST_P(Multipart, may_have_very_many_parts)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    parts message;
    for (int index = 0; index < 20'000; ++index)
        message.push_back(std::to_string(index));
    std::thread sending([&, &socket = peer] { socket.send_parts(message); });
    EXPECT_EQ(message, bound.recv_parts());
    sending.join();
}

TEST_P(Multipart, mixes_parts_of_all_sizes)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    parts message;
    for (const std::size_t size : {0, 1, 255, 256, 0, 8191, 8192, 65'536, 5, 1'000'000, 0})
        message.emplace_back(size, static_cast<char>('a' + message.size()));
    for (int round = 0; round < 3; ++round) {
        peer.send_parts(message);
        EXPECT_EQ(message, bound.recv_parts());
    }
}

TEST_P(Multipart, is_dropped_when_its_sender_closes_before_the_end)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    {
        test_socket source(context_, ZMQ_PUSH);
        source.set(ZMQ_LINGER, 1000);
        source.connect(address);
        source.send_parts({"whole", "message"});
        source.send("unfinished", ZMQ_SNDMORE);
        source.send("still unfinished", ZMQ_SNDMORE);
    }
    EXPECT_EQ((parts{"whole", "message"}), sink.recv_parts());
    EXPECT_FALSE(sink.readable(quiet_window));
    test_socket next(context_, ZMQ_PUSH);
    next.connect(address);
    next.send_parts({"next", "message"});
    EXPECT_EQ((parts{"next", "message"}), sink.recv_parts());
}

TEST_P(Multipart, of_several_senders_are_not_interleaved)
{
    constexpr int senders = 4;
    constexpr int each = 200;
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<std::thread> threads;
    for (int sender = 0; sender < senders; ++sender)
        threads.emplace_back([&, sender] {
            test_socket source = test_socket::with_defaults(context_, ZMQ_PUSH);
            source.connect(address);
            const std::string name = std::to_string(sender);
            for (int number = 0; number < each; ++number)
                source.send_parts({name, std::to_string(number), name, std::string(1000, 'x')});
        });
    std::vector<int> next(senders, 0);
    for (int index = 0; index < senders * each; ++index) {
        const parts message = sink.recv_parts();
        ASSERT_EQ(4u, message.size());
        EXPECT_EQ(message[0], message[2]);
        EXPECT_EQ(std::to_string(next[std::stoul(message[0])]++), message[1]);
    }
    for (std::thread& thread : threads)
        thread.join();
}

TEST_P(Multipart, reading_may_stop_in_the_middle_and_go_on_later)
{
    auto [bound, peer, address] = connect_pair(context_, GetParam(), ZMQ_PAIR, ZMQ_PAIR);
    peer.send_parts({"a", "b", "c"});
    EXPECT_EQ("a", bound.recv());
    bound.send("in between");
    EXPECT_EQ("in between", peer.recv());
    EXPECT_EQ(1, bound.get(ZMQ_RCVMORE));
    EXPECT_EQ("b", bound.recv());
    EXPECT_EQ("c", bound.recv());
}

TEST_P(Multipart, the_rest_follows_the_peer_that_got_the_first_part)
{
    test_socket source(context_, ZMQ_PUSH);
    std::vector<test_socket> sinks;
    for (int index = 0; index < 2; ++index) {
        sinks.emplace_back(context_, ZMQ_PULL);
        source.connect(sinks.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    source.send("a", ZMQ_SNDMORE);
    sinks.emplace_back(context_, ZMQ_PULL);
    source.connect(sinks.back().bind_and_resolve(fresh_bind_address(GetParam())));
    source.send("b", ZMQ_SNDMORE);
    source.send("c");
    EXPECT_EQ((parts{"a", "b", "c"}), sinks[0].recv_parts());
}

TEST_P(Multipart, the_rest_of_a_message_whose_peer_left_is_taken_and_dropped)
{
    for (const auto& [type, peer_type] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, {ZMQ_DEALER, ZMQ_DEALER}}) {
        auto [source, leaves, address] = link(context_, GetParam(), type, peer_type);
        ASSERT_TRUE(source.writable());
        source.send("cut", ZMQ_SNDMORE);
        leaves.close();
        test_socket stays(context_, peer_type);
        stays.connect(address);
        EXPECT_FALSE(stays.readable(quiet_window)); // and the loss is noticed
        source.events();
        EXPECT_EQ(5, zmq_send(source, "off 1", 5, ZMQ_SNDMORE));
        EXPECT_EQ(5, zmq_send(source, "off 2", 5, 0));
        source.send_parts({"a", "whole", "one"});
        EXPECT_EQ((parts{"a", "whole", "one"}), stays.recv_parts());
    }
}

// Who does not wait and is told that there is no room for the last part begins a new message next.
TEST_P(ZlinkOnlyMultipart, the_message_after_one_whose_last_part_was_refused_is_whole)
{
    for (const auto& [type, peer_type] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, {ZMQ_DEALER, ZMQ_DEALER}, {ZMQ_PAIR, ZMQ_PAIR}}) {
        auto [source, leaves, address] = link(context_, GetParam(), type, peer_type);
        ASSERT_TRUE(source.writable());
        source.send("cut", ZMQ_SNDMORE);
        leaves.close();
        EXPECT_FALSE(source.readable(quiet_window)); // and the loss is noticed
        source.events();
        test_socket stays(context_, peer_type);
        stays.connect(address);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_send(source, "off", 3, ZMQ_DONTWAIT)));
        source.send_parts({"a", "whole", "one"});
        source.send("another");
        EXPECT_EQ((parts{"a", "whole", "one"}), stays.recv_parts());
        EXPECT_EQ(parts{"another"}, stays.recv_parts());
    }
}

// libzmq ends the process.
TEST_P(ZlinkOnlyMultipart, a_message_that_is_being_read_outlasts_the_end_of_its_endpoint)
{
    for (const auto& [type, peer_type] : {std::pair{ZMQ_PULL, ZMQ_PUSH},
                                          {ZMQ_DEALER, ZMQ_DEALER},
                                          {ZMQ_SUB, ZMQ_PUB},
                                          {ZMQ_ROUTER, ZMQ_DEALER}})
        for (std::size_t read = 1; read < 4; ++read) {
            test_socket receiver(context_, type);
            if (type == ZMQ_SUB)
                receiver.set(ZMQ_SUBSCRIBE, "");
            test_socket ended(context_, peer_type);
            test_socket other(context_, peer_type);
            for (test_socket* const socket : {&ended, &other}) {
                if (type == ZMQ_ROUTER)
                    socket->set(ZMQ_ROUTING_ID, "id");
                receiver.connect(socket->bind_and_resolve(fresh_bind_address(GetParam())));
                if (type == ZMQ_SUB)
                    publish_until_received(*socket, receiver, "marker");
                if (type == ZMQ_ROUTER)
                    break; // two of one name would be too many
            }
            parts expected{"first", "of", "three", "four"};
            ended.send_parts(expected);
            if (type == ZMQ_ROUTER)
                expected.insert(expected.begin(), "id");
            for (std::size_t index = 0; index < read; ++index) {
                EXPECT_EQ(expected[index], receiver.recv());
                EXPECT_EQ(1, receiver.get(ZMQ_RCVMORE));
            }
            ASSERT_EQ(0, zmq_disconnect(receiver, ended.last_endpoint().c_str()));
            if (type == ZMQ_ROUTER)
                receiver.connect(other.bind_and_resolve(fresh_bind_address(GetParam())));
            other.send("another");
            for (std::size_t index = read; index < expected.size(); ++index)
                EXPECT_EQ(expected[index], receiver.recv()) << type << ", " << read;
            EXPECT_EQ("another", receiver.recv_parts().back());
        }
}

ZLINK_ALL_TRANSPORTS(Multipart);
ZLINK_ALL_TRANSPORTS(ZlinkOnlyMultipart);

} // namespace
} // namespace zlink::test
