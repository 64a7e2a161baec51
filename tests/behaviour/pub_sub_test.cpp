// SPDX-License-Identifier: Apache-2.0
// PUB and SUB: who gets what, and what slow subscribers lose.
#include "support/fixture.hpp"

#include <atomic>
#include <thread>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class PubSub : public transport_test {
protected:
    PubSub() { address_ = publisher_.bind_and_resolve(fresh_bind_address(GetParam())); }

    /// A subscriber whose subscriptions, as far as given here, are known to the publisher.
    test_socket subscriber(const parts& topics)
    {
        test_socket socket(context_, ZMQ_SUB);
        for (const std::string& topic : topics)
            socket.set(ZMQ_SUBSCRIBE, topic);
        socket.connect(address_);
        settle(socket);
        return socket;
    }

    /// Waits until the publisher has processed every subscription this socket has sent so far.
    void settle(test_socket& socket)
    {
        const std::string marker = "~settle" + std::to_string(markers_++);
        socket.set(ZMQ_SUBSCRIBE, marker);
        publish_until_received(publisher_, socket, marker);
    }

    test_socket publisher_{context_, ZMQ_PUB};
    std::string address_;
    int markers_ = 0;
};

TEST_P(PubSub, matches_the_beginning_of_a_message)
{
    test_socket socket = subscriber({"abc"});
    for (const char* body : {"ab", "abd", "xabc", "", "abc", "abcd"})
        publisher_.send(body);
    EXPECT_EQ("abc", socket.recv());
    EXPECT_EQ("abcd", socket.recv());
    publisher_.send("ab");
    publisher_.send("abc end");
    EXPECT_EQ("abc end", socket.recv());
}

TEST_P(PubSub, without_subscription_nothing_arrives)
{
    test_socket all = subscriber({""});
    test_socket none(context_, ZMQ_SUB);
    none.connect(address_);
    publisher_.send("x");
    EXPECT_EQ("x", all.recv());
    EXPECT_FALSE(none.readable(quiet_window));
}

TEST_P(PubSub, the_empty_topic_matches_everything)
{
    test_socket socket = subscriber({""});
    for (const std::string& body : parts{"", "a", std::string("\0\xFF", 2)}) {
        publisher_.send(body);
        EXPECT_EQ(body, socket.recv());
    }
}

TEST_P(PubSub, overlapping_topics_deliver_one_copy)
{
    test_socket socket = subscriber({"", "a", "ab"});
    publisher_.send("abc");
    publisher_.send("last");
    EXPECT_EQ("abc", socket.recv());
    EXPECT_EQ("last", socket.recv());
}

TEST_P(PubSub, equal_subscriptions_are_counted)
{
    test_socket socket = subscriber({"a", "a", "m"});
    socket.set(ZMQ_UNSUBSCRIBE, "a");
    settle(socket);
    publisher_.send("a1");
    EXPECT_EQ("a1", socket.recv());
    socket.set(ZMQ_UNSUBSCRIBE, "a");
    settle(socket);
    publisher_.send("a2");
    publisher_.send("marker");
    EXPECT_EQ("marker", socket.recv());
}

TEST_P(PubSub, cancelling_what_was_never_subscribed_changes_nothing)
{
    test_socket socket = subscriber({"a"});
    socket.set(ZMQ_UNSUBSCRIBE, "b");
    socket.set(ZMQ_UNSUBSCRIBE, "");
    settle(socket);
    publisher_.send("a");
    EXPECT_EQ("a", socket.recv());
}

TEST_P(PubSub, only_the_first_part_decides)
{
    test_socket socket = subscriber({"topic"});
    publisher_.send_parts({"other", "topic"});
    publisher_.send_parts({"topic", "other", ""});
    EXPECT_EQ((parts{"topic", "other", ""}), socket.recv_parts());
}

TEST_P(PubSub, every_subscriber_gets_its_own_selection)
{
    test_socket a = subscriber({"a"});
    test_socket b = subscriber({"b"});
    test_socket both = subscriber({"a", "b"});
    for (int index = 0; index < 20; ++index) {
        publisher_.send("a" + std::to_string(index));
        publisher_.send("b" + std::to_string(index));
    }
    for (int index = 0; index < 20; ++index) {
        EXPECT_EQ("a" + std::to_string(index), a.recv());
        EXPECT_EQ("b" + std::to_string(index), b.recv());
        EXPECT_EQ("a" + std::to_string(index), both.recv());
        EXPECT_EQ("b" + std::to_string(index), both.recv());
    }
}

TEST_P(PubSub, a_subscriber_reads_from_several_publishers)
{
    test_socket second(context_, ZMQ_PUB);
    test_socket socket = subscriber({""});
    socket.connect(second.bind_and_resolve(fresh_bind_address(GetParam())));
    publish_until_received(second, socket, "second");
    publisher_.send("from the first");
    EXPECT_EQ("from the first", socket.recv());
    second.send("from the second");
    EXPECT_EQ("from the second", socket.recv());
}

TEST_P(PubSub, a_subscriber_may_bind)
{
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_SUBSCRIBE, "x");
    const std::string address = socket.bind_and_resolve(fresh_bind_address(GetParam()));
    publisher_.connect(address);
    publish_until_received(publisher_, socket, "x");
    publisher_.send("y");
    publisher_.send("xyz");
    EXPECT_EQ("xyz", socket.recv());
}

TEST_P(PubSub, a_slow_subscriber_loses_whole_messages_only)
{
    publisher_.set(ZMQ_SNDHWM, 5);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_RCVHWM, 5);
    socket.set(ZMQ_SUBSCRIBE, "");
    const std::string address = publisher_.bind_and_resolve(fresh_bind_address(GetParam()));
    socket.connect(address);
    publish_until_received(publisher_, socket, "ready");
    const std::string body(50'000, 'p');
    constexpr int sent = 1000;
    for (int index = 0; index < sent; ++index)
        publisher_.send_parts({std::to_string(index), body, "tail"});
    int received = 0;
    int last = -1;
    while (const auto message = socket.try_recv_parts()) {
        ASSERT_EQ(3u, message->size());
        EXPECT_EQ(body, (*message)[1]);
        EXPECT_EQ("tail", (*message)[2]);
        EXPECT_LT(last, std::stoi(message->front()));
        last = std::stoi(message->front());
        ++received;
    }
    EXPECT_LT(0, received);
    EXPECT_GT(sent, received);
    ASSERT_TRUE(wait_until([&] {
        publisher_.send("alive");
        return socket.readable(1ms);
    }));
}

TEST_P(PubSub, a_slow_subscriber_does_not_disturb_the_others)
{
    publisher_.set(ZMQ_SNDHWM, 100);
    test_socket slow = subscriber({""});
    test_socket fast = subscriber({""});
    const std::string body(10'000, 'q');
    for (int index = 0; index < 2000; ++index) {
        publisher_.send(body);
        EXPECT_EQ(body, fast.recv());
    }
    EXPECT_TRUE(slow.readable());
}

TEST_P(PubSub, without_drop_the_publisher_waits)
{
    publisher_.set(ZMQ_SNDHWM, 2);
    publisher_.set(ZMQ_XPUB_NODROP, 1);
    publisher_.set(ZMQ_SNDTIMEO, 50);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_RCVHWM, 2);
    socket.set(ZMQ_SUBSCRIBE, "");
    socket.connect(publisher_.bind_and_resolve(fresh_bind_address(GetParam())));
    publish_until_received(publisher_, socket, "ready");
    const std::string body(50'000, 'n');
    int accepted = 0;
    while (zmq_send(publisher_, body.data(), body.size(), 0) > 0)
        ASSERT_GT(100'000, ++accepted);
    EXPECT_EQ(EAGAIN, zmq_errno());
    for (int index = 0; index < accepted; ++index)
        EXPECT_EQ(body, socket.recv());
    publisher_.set(ZMQ_SNDTIMEO, 10'000);
    publisher_.send("flows again");
    EXPECT_EQ("flows again", socket.recv());
}

TEST_P(PubSub, without_drop_nothing_is_lost)
{
    constexpr int count = 5000;
    publisher_.set(ZMQ_SNDHWM, 3);
    publisher_.set(ZMQ_XPUB_NODROP, 1);
    std::vector<test_socket> sockets;
    for (int index = 0; index < 2; ++index)
        sockets.push_back(subscriber({""}));
    // The markers of the second subscriber have reached the first one as well.
    publisher_.send("start");
    std::thread sending([this] {
        for (int index = 0; index < count; ++index)
            publisher_.send(std::to_string(index));
    });
    std::thread second([&] {
        while (sockets[1].recv() != "start") {
        }
        for (int index = 0; index < count; ++index)
            EXPECT_EQ(std::to_string(index), sockets[1].recv());
    });
    while (sockets[0].recv() != "start") {
    }
    for (int index = 0; index < count; ++index)
        EXPECT_EQ(std::to_string(index), sockets[0].recv());
    second.join();
    sending.join();
}

TEST_P(PubSub, publishing_goes_on_while_subscribers_come_and_go)
{
    std::atomic<bool> stop{false};
    std::thread sending([&] {
        while (!stop)
            publisher_.send("tick");
    });
    for (int round = 0; round < 20; ++round) {
        test_socket socket(context_, ZMQ_SUB);
        socket.set(ZMQ_SUBSCRIBE, "tick");
        socket.connect(address_);
        EXPECT_EQ("tick", socket.recv());
    }
    stop = true;
    sending.join();
}

TEST_P(PubSub, hundreds_of_topics_are_told_apart)
{
    parts topics;
    for (int index = 0; index < 1000; index += 2)
        topics.push_back("topic-" + std::to_string(index) + "-");
    test_socket socket = subscriber(topics);
    for (int index = 990; index < 1000; ++index)
        publisher_.send("topic-" + std::to_string(index) + "-");
    for (int index = 990; index < 1000; index += 2)
        EXPECT_EQ("topic-" + std::to_string(index) + "-", socket.recv());
}

ZLINK_ALL_TRANSPORTS(PubSub);

class ZlinkOnlyPubSub : public PubSub {};

// Subscriptions are no messages: the high-water mark of the pipe must not lose them.
TEST_P(ZlinkOnlyPubSub, more_topics_than_the_high_water_mark_are_all_effective)
{
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_SNDHWM, 10);
    for (int index = 0; index < 3000; ++index)
        socket.set(ZMQ_SUBSCRIBE, "topic-" + std::to_string(index) + "-");
    socket.connect(address_);
    settle(socket);
    for (int index = 0; index < 3000; index += 100) {
        publisher_.send("topic-" + std::to_string(index) + "-");
        EXPECT_EQ("topic-" + std::to_string(index) + "-", socket.recv());
    }
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyPubSub);

class InvertedMatching : public transport_test {};

TEST_P(InvertedMatching, delivers_what_does_not_match)
{
    test_socket publisher(context_, ZMQ_PUB);
    publisher.set(ZMQ_INVERT_MATCHING, 1);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_INVERT_MATCHING, 1);
    socket.set(ZMQ_SUBSCRIBE, "a");
    socket.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    publish_until_received(publisher, socket, "b-ready");
    ASSERT_TRUE(wait_until([&] {
        publisher.send("a");
        publisher.send("b");
        return socket.recv() == "b";
    }));
    publisher.send("a");
    publisher.send("c");
    EXPECT_EQ("c", socket.recv());
}

TEST_P(InvertedMatching, without_subscription_everything_is_delivered)
{
    test_socket publisher(context_, ZMQ_PUB);
    publisher.set(ZMQ_INVERT_MATCHING, 1);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_INVERT_MATCHING, 1);
    socket.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    publish_until_received(publisher, socket, "ready");
    publisher.send_parts({"any", "thing"});
    EXPECT_EQ((parts{"any", "thing"}), socket.recv_parts());
}

TEST_P(InvertedMatching, a_subscriber_that_does_not_invert_discards_what_it_gets)
{
    test_socket publisher(context_, ZMQ_XPUB);
    publisher.set(ZMQ_INVERT_MATCHING, 1);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_SUBSCRIBE, "a");
    socket.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(std::string("\1a"), publisher.recv());
    for (const char* text : {"a", "b", "c"})
        publisher.send(text);
    EXPECT_FALSE(socket.readable(quiet_window));
}

ZLINK_ALL_TRANSPORTS(InvertedMatching);

} // namespace
} // namespace zlink::test
