// SPDX-License-Identifier: Apache-2.0
// Sockets that have sent to one peer, or received from one, for a while, and then are told
// something that changes where messages go or which of them are wanted.
#include "support/draft.hpp"
#include "support/endpoint.hpp"
#include "support/xpub.hpp"

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
    ASSERT_EQ(subscribe(""), publisher.recv());
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
    subscriber.send(subscribe(""));
    ASSERT_EQ(subscribe(""), publisher.recv());
    talk(publisher, subscriber);
    subscriber.send(subscribe("a"));
    ASSERT_EQ(subscribe("a"), publisher.recv());
    subscriber.send(cancel(""));
    ASSERT_EQ(cancel(""), publisher.recv());
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
        ASSERT_EQ(subscribe(""), publisher.recv());
        send_some(publisher);
        for (test_socket& subscriber : subscribers)
            receive_some(subscriber);
    }
}

TEST_P(ChoiceChanges, the_first_part_decides_who_gets_the_others)
{
    test_socket publisher(context_, ZMQ_XPUB);
    test_socket subscriber(context_, ZMQ_SUB);
    subscriber.set(ZMQ_SUBSCRIBE, "a");
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(GetParam()));
    subscriber.connect(address);
    ASSERT_EQ(subscribe("a"), publisher.recv());
    for (int count = 0; count < a_while; ++count) {
        publisher.send_parts({"a", "b", ""});
        publisher.send_parts({"b", "a", "a"});
        publisher.send("a");
    }
    for (int count = 0; count < a_while; ++count) {
        ASSERT_EQ((parts{"a", "b", ""}), subscriber.recv_parts());
        ASSERT_EQ((parts{"a"}), subscriber.recv_parts());
    }
    // Who subscribes in the middle of a message gets the next one.
    publisher.send("a", ZMQ_SNDMORE);
    test_socket other(context_, ZMQ_SUB);
    other.set(ZMQ_SUBSCRIBE, "");
    other.connect(address);
    ASSERT_EQ(subscribe(""), publisher.recv());
    publisher.send("rest");
    publisher.send_parts({"a", "next"});
    EXPECT_EQ((parts{"a", "rest"}), subscriber.recv_parts());
    EXPECT_EQ((parts{"a", "next"}), subscriber.recv_parts());
    EXPECT_EQ((parts{"a", "next"}), other.recv_parts());
}

TEST_P(ChoiceChanges, the_rest_of_what_a_subscriber_has_left_goes_to_nobody)
{
    test_socket publisher(context_, ZMQ_XPUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(GetParam()));
    {
        test_socket leaves(context_, ZMQ_SUB);
        leaves.set(ZMQ_SUBSCRIBE, "");
        leaves.connect(address);
        ASSERT_EQ(subscribe(""), publisher.recv());
        talk(publisher, leaves);
        publisher.send_parts({"two", "parts"});
        ASSERT_EQ((parts{"two", "parts"}), leaves.recv_parts());
        publisher.send("begun", ZMQ_SNDMORE);
    }
    ASSERT_EQ(cancel(""), publisher.recv());
    test_socket other(context_, ZMQ_SUB);
    other.set(ZMQ_SUBSCRIBE, "");
    other.connect(address);
    ASSERT_EQ(subscribe(""), publisher.recv());
    publisher.send("goes on", ZMQ_SNDMORE);
    publisher.send("rest");
    publisher.send_parts({"two", "parts"});
    EXPECT_EQ((parts{"two", "parts"}), other.recv_parts());
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

/// A ROUTER that has exchanged messages of an id and one part with a DEALER for a while.
class RoutedChoiceChanges : public transport_test {
protected:
    void SetUp() override { router_.set(ZMQ_ROUTER_MANDATORY, 1); }

    test_socket dealer(const std::string& name)
    {
        test_socket made(context_, ZMQ_DEALER);
        made.set(ZMQ_ROUTING_ID, name);
        made.connect(address_);
        return made;
    }
    /// Both ways; the router knows the dealer then.
    void talk(test_socket& with, const std::string& name)
    {
        for (int count = 0; count < a_while; ++count) {
            with.send("question");
            ASSERT_EQ((parts{name, "question"}), router_.recv_parts());
            router_.send_parts({name, "answer"});
            ASSERT_EQ("answer", with.recv());
        }
        // Without waiting in between, which is a choice of another kind.
        for (int count = 0; count < a_while; ++count)
            router_.send_parts({name, "answer"});
        for (int count = 0; count < a_while; ++count)
            ASSERT_EQ("answer", with.recv());
    }
    bool knows(const std::string& name)
    {
        return zmq_send(router_, name.data(), name.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0;
    }

    test_socket router_{context_, ZMQ_ROUTER};
    const std::string address_ = router_.bind_and_resolve(fresh_bind_address(GetParam()));
};

TEST_P(RoutedChoiceChanges, names_of_any_length_are_told_apart)
{
    // Names of one length that differ in one place only, beginning, middle or end.
    for (const std::size_t length : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 12U, 15U, 16U, 17U, 40U}) {
        const std::string first(length, 'n');
        test_socket known = dealer(first);
        talk(known, first);
        for (const std::size_t place : {std::size_t{0}, length / 2, length - 1}) {
            std::string other = first;
            other[place] = 'm';
            EXPECT_FALSE(knows(other));
            EXPECT_EQ(EHOSTUNREACH, zmq_errno());
            router_.send_parts({first, "answer"});
            EXPECT_EQ("answer", known.recv());
        }
        EXPECT_FALSE(knows(first + "n"));
        EXPECT_FALSE(knows(first.substr(1) + std::string(1, '\0')));
    }
}

TEST_P(RoutedChoiceChanges, two_peers_are_addressed_in_any_order)
{
    test_socket first = dealer("first");
    test_socket other = dealer("other");
    talk(first, "first");
    talk(other, "other");
    for (int count = 0; count < a_while; ++count) {
        router_.send_parts({"first", "to first"});
        router_.send_parts({"other", "to other"});
        router_.send_parts({"other", "to other", "again"});
        router_.send_parts({"first", "", "to first"});
    }
    for (int count = 0; count < a_while; ++count) {
        EXPECT_EQ((parts{"to first"}), first.recv_parts());
        EXPECT_EQ((parts{"", "to first"}), first.recv_parts());
        EXPECT_EQ((parts{"to other"}), other.recv_parts());
        EXPECT_EQ((parts{"to other", "again"}), other.recv_parts());
    }
}

TEST_P(RoutedChoiceChanges, the_rest_of_a_message_goes_to_nobody_when_its_peer_has_left)
{
    test_socket leaves = dealer("name");
    talk(leaves, "name");
    test_socket stays = dealer("stays");
    talk(stays, "stays");
    talk(leaves, "name");
    router_.send("name", ZMQ_SNDMORE);
    leaves.close();
    // Another peer tells that the router has heard of it, and must not get the rest.
    ASSERT_TRUE(wait_until([&] {
        stays.send("tick");
        EXPECT_EQ((parts{"stays", "tick"}), router_.recv_parts());
        return zmq_socket_get_peer_state(router_, "name", 4) < 0;
    }));
    router_.send("rest");
    router_.send_parts({"stays", "answer"});
    EXPECT_EQ((parts{"answer"}), stays.recv_parts());
    test_socket again = dealer("name");
    talk(again, "name");
}

TEST_P(RoutedChoiceChanges, the_rest_of_a_message_does_not_go_to_who_takes_the_name_over)
{
    router_.set(ZMQ_ROUTER_HANDOVER, 1);
    test_socket older = dealer("name");
    talk(older, "name");
    router_.send("name", ZMQ_SNDMORE);
    test_socket newer = dealer("name");
    newer.send("question");
    ASSERT_EQ((parts{"name", "question"}), router_.recv_parts());
    router_.send("rest");
    router_.send_parts({"name", "answer"});
    EXPECT_EQ((parts{"answer"}), newer.recv_parts());
    talk(newer, "name");
}

TEST_P(RoutedChoiceChanges, a_message_goes_on_after_its_id_when_others_have_come)
{
    test_socket first = dealer("first");
    talk(first, "first");
    for (int count = 0; count < a_while; ++count)
        first.send("some");
    for (int count = 0; count < a_while - 1; ++count)
        ASSERT_EQ((parts{"first", "some"}), router_.recv_parts());
    ASSERT_EQ("first", router_.recv());
    EXPECT_EQ(1, router_.get(ZMQ_RCVMORE));
    test_socket other = dealer("other");
    other.send("question");
    ASSERT_TRUE(wait_until([&] { return zmq_socket_get_peer_state(router_, "other", 5) >= 0; }));
    EXPECT_EQ("some", router_.recv());
    EXPECT_EQ(0, router_.get(ZMQ_RCVMORE));
    EXPECT_EQ((parts{"other", "question"}), router_.recv_parts());
}

TEST_P(RoutedChoiceChanges, an_id_is_not_followed_by_another_message_when_its_peer_has_left)
{
    test_socket leaves = dealer("leaves");
    test_socket stays = dealer("stays");
    talk(stays, "stays");
    talk(leaves, "leaves");
    for (int count = 0; count < a_while; ++count)
        leaves.send("some");
    for (int count = 0; count < a_while - 1; ++count)
        ASSERT_EQ((parts{"leaves", "some"}), router_.recv_parts());
    ASSERT_EQ("leaves", router_.recv());
    leaves.close();
    ASSERT_TRUE(wait_until([&] { return zmq_socket_get_peer_state(router_, "leaves", 6) < 0; }));
    EXPECT_EQ("some", router_.recv()); // it had come already
    stays.send("question");
    EXPECT_EQ((parts{"stays", "question"}), router_.recv_parts());
}

TEST_P(RoutedChoiceChanges, parts_are_counted_right_when_messages_have_more_of_them)
{
    test_socket peer = dealer("name");
    talk(peer, "name");
    for (int count = 0; count < a_while; ++count) {
        peer.send("one");
        peer.send_parts({"one", "two"});
        peer.send_parts({"", "two", ""});
        peer.send("");
    }
    for (int count = 0; count < a_while; ++count) {
        EXPECT_EQ((parts{"name", "one"}), router_.recv_parts());
        EXPECT_EQ((parts{"name", "one", "two"}), router_.recv_parts());
        EXPECT_EQ((parts{"name", "", "two", ""}), router_.recv_parts());
        EXPECT_EQ((parts{"name", ""}), router_.recv_parts());
    }
}

TEST_P(RoutedChoiceChanges, a_full_peer_is_told_of_and_loses_nothing)
{
    test_socket peer = dealer("name");
    talk(peer, "name");
    const std::string body(1000, 'b');
    int sent = 0;
    while (knows("name")) {
        router_.send(body);
        ++sent;
    }
    EXPECT_EQ(EAGAIN, zmq_errno());
    ASSERT_GT(sent, 0);
    for (int count = 0; count < sent; ++count)
        ASSERT_EQ((parts{body}), peer.recv_parts());
    talk(peer, "name");
}

ZLINK_ALL_TRANSPORTS(RoutedChoiceChanges);

} // namespace
} // namespace zlink::test
