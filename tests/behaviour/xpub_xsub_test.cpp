// SPDX-License-Identifier: Apache-2.0
// XPUB and XSUB: subscriptions as messages.
#include "support/fixture.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

const std::string subscribe_byte("\1", 1);
const std::string cancel_byte("\0", 1);

std::string subscribe(const std::string& topic)
{
    return subscribe_byte + topic;
}

std::string cancel(const std::string& topic)
{
    return cancel_byte + topic;
}

class XPubXSub : public transport_test {
protected:
    XPubXSub() { address_ = publisher_.bind_and_resolve(fresh_bind_address(GetParam())); }

    test_socket subscriber(int type = ZMQ_SUB)
    {
        test_socket socket(context_, type);
        socket.connect(address_);
        return socket;
    }

    test_socket publisher_{context_, ZMQ_XPUB};
    std::string address_;
};

TEST_P(XPubXSub, shows_subscriptions_and_cancellations)
{
    test_socket socket = subscriber();
    socket.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    socket.set(ZMQ_SUBSCRIBE, "");
    EXPECT_EQ(subscribe(""), publisher_.recv());
    socket.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(cancel("a"), publisher_.recv());
    socket.set(ZMQ_UNSUBSCRIBE, "");
    EXPECT_EQ(cancel(""), publisher_.recv());
}

TEST_P(XPubXSub, shows_only_the_first_and_the_last_of_equal_topics)
{
    test_socket one = subscriber();
    test_socket two = subscriber();
    one.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    two.set(ZMQ_SUBSCRIBE, "a");
    two.set(ZMQ_SUBSCRIBE, "b");
    EXPECT_EQ(subscribe("b"), publisher_.recv());
    one.set(ZMQ_UNSUBSCRIBE, "a");
    one.set(ZMQ_SUBSCRIBE, "c");
    EXPECT_EQ(subscribe("c"), publisher_.recv());
    two.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(cancel("a"), publisher_.recv());
}

TEST_P(XPubXSub, verbose_shows_every_subscription)
{
    publisher_.set(ZMQ_XPUB_VERBOSE, 1);
    test_socket one = subscriber();
    test_socket two = subscriber();
    one.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    two.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    one.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    two.set(ZMQ_UNSUBSCRIBE, "a");
    two.set(ZMQ_SUBSCRIBE, "b");
    EXPECT_EQ(subscribe("b"), publisher_.recv());
}

TEST_P(XPubXSub, verboser_shows_every_cancellation_too)
{
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    test_socket one = subscriber();
    test_socket two = subscriber();
    for (test_socket* socket : {&one, &two}) {
        socket->set(ZMQ_SUBSCRIBE, "a");
        EXPECT_EQ(subscribe("a"), publisher_.recv());
    }
    for (test_socket* socket : {&one, &two}) {
        socket->set(ZMQ_UNSUBSCRIBE, "a");
        EXPECT_EQ(cancel("a"), publisher_.recv());
    }
}

TEST_P(XPubXSub, a_leaving_subscriber_cancels_its_topics)
{
    {
        test_socket socket = subscriber();
        socket.set(ZMQ_SUBSCRIBE, "a");
        EXPECT_EQ(subscribe("a"), publisher_.recv());
        socket.set(ZMQ_SUBSCRIBE, "b");
        EXPECT_EQ(subscribe("b"), publisher_.recv());
    }
    parts seen{publisher_.recv(), publisher_.recv()};
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ((parts{cancel("a"), cancel("b")}), seen);
}

TEST_P(XPubXSub, a_topic_is_cancelled_when_its_last_subscriber_leaves)
{
    test_socket stays = subscriber();
    stays.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    {
        test_socket leaves = subscriber();
        leaves.set(ZMQ_SUBSCRIBE, "a");
        leaves.set(ZMQ_SUBSCRIBE, "b");
        EXPECT_EQ(subscribe("b"), publisher_.recv());
    }
    EXPECT_EQ(cancel("b"), publisher_.recv());
    publisher_.send("a");
    EXPECT_EQ("a", stays.recv());
    stays.close();
    EXPECT_EQ(cancel("a"), publisher_.recv());
}

TEST_P(XPubXSub, an_xsub_subscribes_by_messages)
{
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.send(subscribe("a"));
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    publisher_.send("b");
    publisher_.send_parts({"a1", "tail"});
    EXPECT_EQ((parts{"a1", "tail"}), socket.recv_parts());
    socket.send(cancel("a"));
    EXPECT_EQ(cancel("a"), publisher_.recv());
    publisher_.send("a2");
    EXPECT_FALSE(socket.readable(quiet_window));
}

TEST_P(XPubXSub, an_xsub_tells_latecomers_what_it_wants)
{
    test_socket socket(context_, ZMQ_XSUB);
    socket.send(subscribe("a"));
    socket.send(subscribe("gone"));
    socket.send(cancel("gone"));
    socket.connect(address_);
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    EXPECT_FALSE(publisher_.readable(quiet_window));
}

TEST_P(XPubXSub, an_xsub_cancels_upstream_when_its_count_is_zero)
{
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.send(subscribe("a"));
    socket.send(subscribe("a"));
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    socket.send(cancel("a"));
    socket.send(subscribe("b"));
    EXPECT_EQ(subscribe("b"), publisher_.recv());
    socket.send(cancel("a"));
    EXPECT_EQ(cancel("a"), publisher_.recv());
}

TEST_P(XPubXSub, other_messages_of_an_xsub_are_passed_up)
{
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.send(subscribe("s"));
    EXPECT_EQ(subscribe("s"), publisher_.recv());
    socket.send("user message");
    EXPECT_EQ(parts{"user message"}, publisher_.recv_parts());
    socket.send_parts({"two", "parts"});
    EXPECT_EQ((parts{"two", "parts"}), publisher_.recv_parts());
    socket.send("");
    EXPECT_EQ(parts{""}, publisher_.recv_parts());
}

TEST_P(XPubXSub, a_welcome_message_greets_every_subscriber)
{
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, "welcome");
    test_socket sub(context_, ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "wel");
    sub.connect(address_);
    EXPECT_EQ(subscribe("wel"), publisher_.recv());
    EXPECT_EQ("welcome", sub.recv());
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, "");
    test_socket late(context_, ZMQ_SUB);
    late.set(ZMQ_SUBSCRIBE, "wel");
    late.connect(address_);
    ASSERT_TRUE(wait_until([&] {
        publisher_.send("wel: no greeting");
        return late.readable(2ms);
    }));
    EXPECT_EQ("wel: no greeting", late.recv());
}

TEST_P(XPubXSub, a_welcome_message_passes_the_filter_of_the_subscriber)
{
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, "welcome");
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_SUBSCRIBE, "other");
    socket.connect(address_);
    EXPECT_EQ(subscribe("other"), publisher_.recv());
    publisher_.send("other: first");
    EXPECT_EQ("other: first", socket.recv());
}

TEST_P(XPubXSub, manual_subscriptions_are_decided_by_the_publisher)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket one = subscriber();
    one.set(ZMQ_SUBSCRIBE, "A");
    EXPECT_EQ(subscribe("A"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "XA");
    test_socket two = subscriber();
    two.set(ZMQ_SUBSCRIBE, "B");
    EXPECT_EQ(subscribe("B"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "B");
    publisher_.send("A");
    publisher_.send("B");
    EXPECT_EQ("B", two.recv());
    EXPECT_FALSE(one.readable(quiet_window));
    one.set(ZMQ_SUBSCRIBE, "XA");
    EXPECT_EQ(subscribe("XA"), publisher_.recv());
    publisher_.send("XA1");
    EXPECT_EQ("XA1", one.recv());
}

TEST_P(XPubXSub, manual_publishers_see_every_request)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket one = subscriber();
    test_socket two = subscriber();
    for (test_socket* socket : {&one, &two}) {
        socket->set(ZMQ_SUBSCRIBE, "a");
        EXPECT_EQ(subscribe("a"), publisher_.recv());
    }
    for (test_socket* socket : {&one, &two}) {
        socket->set(ZMQ_UNSUBSCRIBE, "a");
        EXPECT_EQ(cancel("a"), publisher_.recv());
    }
}

TEST_P(XPubXSub, a_manual_subscription_of_somebody_who_left_is_not_given_to_a_newcomer)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    // What the publisher notices cannot be seen from outside while the request is not read.
    const auto let_it_notice = [this] {
        wait_until([this] { return publisher_.events() < 0; }, quiet_window);
    };
    test_socket one = subscriber();
    one.set(ZMQ_SUBSCRIBE, "A");
    ASSERT_TRUE(publisher_.readable());
    one.close();
    let_it_notice();
    test_socket two = subscriber();
    two.set(ZMQ_SUBSCRIBE, ""); // takes whatever the publisher grants
    let_it_notice();
    EXPECT_EQ(subscribe("A"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "A");
    ASSERT_TRUE(wait_until([this] { return publisher_.recv() == subscribe(""); }));
    publisher_.set(ZMQ_SUBSCRIBE, "B");
    publisher_.send("A");
    publisher_.send("B");
    EXPECT_EQ("B", two.recv());
}

TEST_P(XPubXSub, a_manual_subscription_of_somebody_who_left_is_not_given_to_the_one_before)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket stays = subscriber();
    stays.set(ZMQ_SUBSCRIBE, ""); // takes whatever the publisher grants
    EXPECT_EQ(subscribe(""), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "B");
    test_socket leaves = subscriber();
    leaves.set(ZMQ_SUBSCRIBE, "A");
    ASSERT_TRUE(publisher_.readable());
    leaves.close();
    wait_until([this] { return publisher_.events() < 0; }, quiet_window);
    EXPECT_EQ(subscribe("A"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "A");
    publisher_.send("A");
    publisher_.send("B");
    EXPECT_EQ("B", stays.recv());
}

TEST_P(XPubXSub, without_drop_a_full_subscriber_stops_the_send)
{
    test_socket publisher(context_, ZMQ_XPUB);
    publisher.set(ZMQ_XPUB_NODROP, 1);
    publisher.set(ZMQ_SNDHWM, 2);
    publisher.set(ZMQ_SNDTIMEO, 50);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_RCVHWM, 2);
    socket.set(ZMQ_SUBSCRIBE, "");
    socket.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(subscribe(""), publisher.recv());
    const std::string body(50'000, 'n');
    int accepted = 0;
    while (zmq_send(publisher, body.data(), body.size(), 0) > 0)
        ASSERT_GT(100'000, ++accepted);
    EXPECT_EQ(EAGAIN, zmq_errno());
    for (int index = 0; index < accepted; ++index)
        EXPECT_EQ(body, socket.recv());
    EXPECT_FALSE(socket.readable(quiet_window));
}

TEST_P(XPubXSub, a_proxy_of_both_forwards_messages_and_subscriptions)
{
    test_socket front(context_, ZMQ_XSUB);
    const std::string inner = front.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket source(context_, ZMQ_XPUB);
    source.connect(inner);
    test_socket sink = subscriber();
    sink.set(ZMQ_SUBSCRIBE, "t");
    front.send(publisher_.recv());
    ASSERT_TRUE(wait_until([&] {
        front.events();
        return source.readable(1ms);
    }));
    EXPECT_EQ(subscribe("t"), source.recv());
    source.send_parts({"t1", "payload"});
    publisher_.send_parts(front.recv_parts());
    EXPECT_EQ((parts{"t1", "payload"}), sink.recv_parts());
}

TEST_P(XPubXSub, a_subscription_at_a_bound_subscriber_reaches_the_connecting_publisher)
{
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_SUBSCRIBE, "a");
    publisher_.connect(socket.bind_and_resolve(fresh_bind_address(GetParam())));
    ASSERT_TRUE(wait_until([&] {
        socket.events();
        return publisher_.readable(1ms);
    }));
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    publisher_.send("a");
    EXPECT_EQ("a", socket.recv());
}

ZLINK_ALL_TRANSPORTS(XPubXSub);

class ZlinkOnlyXPub : public transport_test {};

TEST_P(ZlinkOnlyXPub, keeps_an_upstream_message_in_one_piece)
{
    test_socket publisher(context_, ZMQ_XPUB);
    test_socket socket(context_, ZMQ_XSUB);
    socket.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    socket.send(subscribe("s"));
    EXPECT_EQ(subscribe("s"), publisher.recv());
    const parts message{"\5a", subscribe("b"), "c"};
    socket.send_parts(message);
    EXPECT_EQ(message, publisher.recv_parts());
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyXPub);

} // namespace
} // namespace zlink::test
