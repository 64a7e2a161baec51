// SPDX-License-Identifier: Apache-2.0
// Sockets that have sent to one peer, or received from one, for a while, and then are told
// something that changes where messages go or which of them are wanted.
#include "support/endpoint.hpp"
#include "support/fixture.hpp"

namespace zlink::test {
namespace {

constexpr int a_while = 5;

class ChoiceChanges : public transport_test {
protected:
    // A message of one part at a time, each received before the next is sent.
    static void talk(test_socket& from, test_socket& to)
    {
        for (int count = 0; count < a_while; ++count) {
            from.send("talk");
            ASSERT_EQ("talk", to.recv());
        }
    }
    static void send_some(test_socket& from)
    {
        for (int count = 0; count < a_while; ++count)
            from.send("some");
    }
    static void receive_some(test_socket& to)
    {
        for (int count = 0; count < a_while; ++count)
            ASSERT_EQ("some", to.recv());
    }
};

TEST_P(ChoiceChanges, a_new_peer_gets_its_share)
{
    test_socket source(context_, ZMQ_PUSH);
    test_socket first(context_, ZMQ_PULL);
    source.connect(first.bind_and_resolve(fresh_bind_address(GetParam())));
    talk(source, first);
    send_some(source);
    receive_some(first);
    test_socket second(context_, ZMQ_PULL);
    source.connect(second.bind_and_resolve(fresh_bind_address(GetParam())));
    for (int count = 0; count < 2 * a_while; ++count)
        source.send("some");
    receive_some(first);
    receive_some(second);
}

TEST_P(ChoiceChanges, a_peer_that_comes_later_is_heard)
{
    test_socket sink(context_, ZMQ_PULL);
    const std::string address = sink.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket first(context_, ZMQ_PUSH);
    first.connect(address);
    talk(first, sink);
    send_some(first);
    test_socket second(context_, ZMQ_PUSH);
    second.connect(address);
    second.send("late");
    int late = 0;
    for (int count = 0; count < a_while + 1; ++count)
        late += sink.recv() == "late";
    EXPECT_EQ(1, late);
}

TEST_P(ChoiceChanges, messages_of_several_parts_stay_whole_among_others)
{
    test_socket left(context_, ZMQ_DEALER);
    test_socket right(context_, ZMQ_DEALER);
    left.connect(right.bind_and_resolve(fresh_bind_address(GetParam())));
    talk(left, right);
    for (int round = 0; round < a_while; ++round) {
        send_some(left);
        left.send_parts({"two", "parts"});
        left.send_parts({"three", "", "parts"});
    }
    for (int round = 0; round < a_while; ++round) {
        for (int count = 0; count < a_while; ++count)
            EXPECT_EQ((parts{"some"}), right.recv_parts());
        EXPECT_EQ((parts{"two", "parts"}), right.recv_parts());
        EXPECT_EQ((parts{"three", "", "parts"}), right.recv_parts());
    }
}

TEST_P(ChoiceChanges, what_is_no_longer_subscribed_to_is_left_out_though_it_has_come)
{
    test_socket publisher(context_, ZMQ_XPUB);
    test_socket subscriber(context_, ZMQ_SUB);
    subscriber.set(ZMQ_SUBSCRIBE, "");
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    ASSERT_EQ(std::string("\1", 1), publisher.recv());
    talk(publisher, subscriber);
    for (int count = 0; count < a_while; ++count) {
        publisher.send("a");
        publisher.send("b");
    }
    ASSERT_EQ("a", subscriber.recv());
    ASSERT_EQ("b", subscriber.recv());
    ASSERT_EQ("a", subscriber.recv());
    subscriber.set(ZMQ_SUBSCRIBE, "a");
    subscriber.set(ZMQ_UNSUBSCRIBE, "");
    for (int count = 2; count < a_while; ++count)
        EXPECT_EQ("a", subscriber.recv());
}

TEST_P(ChoiceChanges, a_publisher_sends_no_more_of_what_was_cancelled)
{
    test_socket publisher(context_, ZMQ_XPUB);
    test_socket subscriber(context_, ZMQ_XSUB);
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    subscriber.send(std::string("\1", 1));
    ASSERT_EQ(std::string("\1", 1), publisher.recv());
    talk(publisher, subscriber);
    subscriber.send("\1a");
    ASSERT_EQ("\1a", publisher.recv());
    subscriber.send(std::string("\0", 1));
    ASSERT_EQ(std::string("\0", 1), publisher.recv());
    publisher.send("b");
    publisher.send("a");
    EXPECT_EQ("a", subscriber.recv());
}

TEST_P(ChoiceChanges, a_publisher_sends_to_the_subscriber_that_comes_later_too)
{
    test_socket publisher(context_, ZMQ_XPUB);
    publisher.set(ZMQ_XPUB_VERBOSE, 1);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> subscribers;
    for (int index = 0; index < 3; ++index) {
        subscribers.emplace_back(context_, ZMQ_SUB);
        subscribers.back().set(ZMQ_SUBSCRIBE, "");
        subscribers.back().connect(address);
        ASSERT_EQ(std::string("\1", 1), publisher.recv());
        send_some(publisher);
        for (test_socket& subscriber : subscribers)
            receive_some(subscriber);
    }
}

TEST_P(ChoiceChanges, calls_answer_that_the_context_ends)
{
    test_socket left(context_, ZMQ_PAIR);
    test_socket right(context_, ZMQ_PAIR);
    left.connect(right.bind_and_resolve(fresh_bind_address(GetParam())));
    talk(left, right);
    send_some(left);
    ASSERT_EQ("some", right.recv());
    ASSERT_EQ(0, zmq_ctx_shutdown(context_));
    char byte = 0;
    EXPECT_EQ(-1, zmq_send(left, "x", 1, ZMQ_DONTWAIT));
    EXPECT_EQ(ETERM, zmq_errno());
    EXPECT_EQ(-1, zmq_recv(right, &byte, 1, ZMQ_DONTWAIT));
    EXPECT_EQ(ETERM, zmq_errno());
}

ZLINK_ALL_TRANSPORTS(ChoiceChanges);

} // namespace
} // namespace zlink::test
