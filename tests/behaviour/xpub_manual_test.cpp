// SPDX-License-Identifier: Apache-2.0
// XPUB sockets that decide themselves what their peers get: ZMQ_XPUB_MANUAL and its like.
#define ZMQ_BUILD_DRAFT_API
#include "support/xpub.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class XPubManual : public xpub_test {};

TEST_P(XPubManual, manual_subscriptions_are_decided_by_the_publisher)
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

TEST_P(XPubManual, manual_publishers_see_every_request)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    expect_every_request_shown();
}

TEST_P(XPubManual, a_manual_subscription_of_somebody_who_left_is_not_given_to_a_newcomer)
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

TEST_P(XPubManual, a_manual_subscription_of_somebody_who_left_is_not_given_to_the_one_before)
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

TEST_P(XPubManual, a_manual_publisher_answers_the_request_read_last_whatever_messages_follow)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket one = subscriber(ZMQ_XSUB);
    one.send(subscribe("A"));
    EXPECT_EQ(subscribe("A"), publisher_.recv());
    test_socket two = subscriber(ZMQ_XSUB);
    two.send(subscribe("D"));
    EXPECT_EQ(subscribe("D"), publisher_.recv());
    one.send("a message of one");
    EXPECT_EQ("a message of one", publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "D");
    publisher_.send("D");
    EXPECT_EQ("D", two.recv());
}

TEST_P(XPubManual, a_manual_publisher_hears_what_a_leaving_peer_had_requested)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket stays = subscriber();
    stays.set(ZMQ_SUBSCRIBE, "requested");
    EXPECT_EQ(subscribe("requested"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "given");
    test_socket leaves = subscriber();
    leaves.set(ZMQ_SUBSCRIBE, "requested");
    EXPECT_EQ(subscribe("requested"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "given");
    leaves.set(ZMQ_SUBSCRIBE, "taken back");
    EXPECT_EQ(subscribe("taken back"), publisher_.recv());
    leaves.set(ZMQ_UNSUBSCRIBE, "taken back");
    EXPECT_EQ(cancel("taken back"), publisher_.recv());
    leaves.close();
    EXPECT_EQ(cancel("requested"), publisher_.recv());
    EXPECT_FALSE(publisher_.readable(quiet_window));
    EXPECT_EQ(1, publisher_.get(ZMQ_TOPICS_COUNT));
}

TEST_P(XPubManual, a_manual_publisher_cancels_by_itself)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.send(subscribe(""));
    EXPECT_EQ(subscribe(""), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "A");
    publisher_.set(ZMQ_SUBSCRIBE, "B");
    publisher_.send("A1");
    EXPECT_EQ("A1", socket.recv());
    publisher_.set(ZMQ_UNSUBSCRIBE, "A");
    publisher_.send("A2");
    publisher_.send("B1");
    EXPECT_EQ("B1", socket.recv());
}

TEST_P(XPubManual, a_manual_pub_socket_sends_nothing_unasked)
{
    test_socket publisher(context_, ZMQ_PUB);
    publisher.set(ZMQ_XPUB_MANUAL, 1);
    test_socket socket(context_, ZMQ_SUB);
    socket.set(ZMQ_SUBSCRIBE, "a");
    socket.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ(0, zmq_setsockopt(publisher, ZMQ_SUBSCRIBE, "a", 1));
    wait_until(
        [&] {
            publisher.send("abc");
            return socket.readable(1ms);
        },
        quiet_window);
    EXPECT_FALSE(socket.readable(1ms));
}

TEST_P(XPubManual, what_the_publisher_decides_passes_an_xsub_but_not_a_sub)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket xsub = subscriber(ZMQ_XSUB);
    xsub.send(subscribe("asked for"));
    EXPECT_EQ(subscribe("asked for"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "given");
    test_socket sub = subscriber();
    sub.set(ZMQ_SUBSCRIBE, "asked for");
    EXPECT_EQ(subscribe("asked for"), publisher_.recv());
    publisher_.set(ZMQ_SUBSCRIBE, "given");
    publisher_.set(ZMQ_SUBSCRIBE, "asked for");
    publisher_.send_parts({"given", "parts"});
    publisher_.send("asked for");
    EXPECT_EQ((parts{"given", "parts"}), xsub.recv_parts());
    EXPECT_EQ("asked for", sub.recv());
}

TEST_P(XPubManual, a_manual_publisher_that_has_read_nothing_decides_nothing)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    const auto decide = [this] {
        EXPECT_EQ(0, zmq_setsockopt(publisher_, ZMQ_SUBSCRIBE, "early", 5));
        EXPECT_EQ(0, zmq_setsockopt(publisher_, ZMQ_UNSUBSCRIBE, "late", 4));
    };
    decide();
    test_socket socket = subscriber(ZMQ_XSUB);
    decide();
    socket.send(subscribe("asked"));
    ASSERT_TRUE(publisher_.readable());
    decide();
    publisher_.send("early");
    EXPECT_EQ(subscribe("asked"), publisher_.recv());
    EXPECT_EQ(0, zmq_setsockopt(publisher_, ZMQ_UNSUBSCRIBE, "early", 5));
    publisher_.set(ZMQ_SUBSCRIBE, "late");
    publisher_.send("early");
    publisher_.send("late");
    EXPECT_EQ("late", socket.recv());
}

ZLINK_ALL_TRANSPORTS(XPubManual);

class LastValue : public xpub_test {
protected:
    LastValue() { publisher_.set(ZMQ_XPUB_MANUAL_LAST_VALUE, 1); }

    test_socket accepted(const std::string& topic)
    {
        test_socket socket = subscriber();
        accept(socket, topic);
        return socket;
    }
    void accept(test_socket& socket, const std::string& topic)
    {
        socket.set(ZMQ_SUBSCRIBE, topic);
        EXPECT_EQ(subscribe(topic), publisher_.recv());
        publisher_.set(ZMQ_SUBSCRIBE, topic);
    }
    void expect_for_all(std::initializer_list<test_socket*> sockets)
    {
        publisher_.send("T for all");
        for (test_socket* socket : sockets)
            EXPECT_EQ("T for all", socket->recv());
    }
};

TEST_P(LastValue, the_message_after_a_subscription_is_for_the_newcomer_only)
{
    test_socket one = accepted("T");
    publisher_.send("T cached");
    EXPECT_EQ("T cached", one.recv());
    test_socket two = accepted("T");
    publisher_.send_parts({"T cached", "in", "parts"});
    EXPECT_EQ((parts{"T cached", "in", "parts"}), two.recv_parts());
    expect_for_all({&one, &two});
}

TEST_P(LastValue, a_message_that_the_newcomer_did_not_ask_for_goes_to_nobody)
{
    test_socket one = accepted("T");
    accept(one, "Q");
    publisher_.send("Q cached");
    EXPECT_EQ("Q cached", one.recv());
    test_socket two = accepted("T");
    publisher_.send("Q is nothing for the newcomer");
    expect_for_all({&one, &two});
}

TEST_P(LastValue, stays_when_manual_is_set_again)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket one = accepted("T");
    publisher_.send("T cached");
    EXPECT_EQ("T cached", one.recv());
    test_socket two = accepted("T");
    publisher_.send("T cached");
    EXPECT_EQ("T cached", two.recv());
    expect_for_all({&one, &two});
}

TEST_P(LastValue, ends_together_with_manual)
{
    publisher_.set(ZMQ_XPUB_MANUAL_LAST_VALUE, 0);
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(publisher_, ZMQ_SUBSCRIBE, "T", 1)));
    publisher_.set(ZMQ_XPUB_MANUAL_LAST_VALUE, 1);
    publisher_.set(ZMQ_XPUB_MANUAL, 0);
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(publisher_, ZMQ_SUBSCRIBE, "T", 1)));
    test_socket one = subscriber();
    one.set(ZMQ_SUBSCRIBE, "T");
    EXPECT_EQ(subscribe("T"), publisher_.recv());
    test_socket two = subscriber();
    two.set(ZMQ_SUBSCRIBE, "T");
    publish_until_received(publisher_, two, "T ready");
    while (one.try_recv_parts())
        ;
    expect_for_all({&one, &two});
}

TEST_P(LastValue, the_newcomer_is_served_though_another_who_may_lose_nothing_is_full)
{
    publisher_.set(ZMQ_XPUB_NODROP, 1);
    publisher_.set(ZMQ_SNDHWM, 2);
    // The kernel may take a little more now and then though nobody reads.
    publisher_.set(ZMQ_SNDTIMEO, 400);
    const std::string body = "T" + std::string(1'000'000, '.');
    test_socket full = subscriber();
    full.set(ZMQ_RCVHWM, 2);
    accept(full, "T");
    int sent = 0;
    while (zmq_send(publisher_, body.data(), body.size(), 0) != -1)
        ++sent;
    EXPECT_EQ(EAGAIN, zmq_errno());
    test_socket newcomer = accepted("T");
    EXPECT_TRUE(publisher_.try_send("T for the newcomer"));
    EXPECT_FALSE(publisher_.try_send("T for all"));
    EXPECT_EQ("T for the newcomer", newcomer.recv());
    for (int index = 0; index < sent; ++index)
        ASSERT_TRUE(body == full.recv()) << index;
    publisher_.set(ZMQ_SNDTIMEO, static_cast<int>(patience.count()));
    expect_for_all({&full, &newcomer});
    EXPECT_FALSE(newcomer.readable(1ms));
}

ZLINK_ALL_TRANSPORTS(LastValue);

class ZlinkOnlyLastValue : public LastValue {};

TEST_P(ZlinkOnlyLastValue, a_message_for_a_newcomer_that_left_goes_to_nobody)
{
    test_socket one = accepted("T");
    publisher_.send("T cached");
    EXPECT_EQ("T cached", one.recv());
    test_socket two = accepted("T");
    two.close();
    EXPECT_EQ(cancel("T"), publisher_.recv());
    test_socket three = accepted("T");
    three.close();
    ASSERT_TRUE(publisher_.readable());
    publisher_.send("T cached for three");
    expect_for_all({&one});
}

TEST_P(ZlinkOnlyLastValue, a_cancellation_does_not_keep_the_next_message_from_others)
{
    test_socket one = subscriber();
    test_socket two = subscriber();
    for (test_socket* socket : {&one, &two}) {
        socket->set(ZMQ_SUBSCRIBE, "T");
        EXPECT_EQ(subscribe("T"), publisher_.recv());
        publisher_.set(ZMQ_SUBSCRIBE, "T");
        publisher_.send("T cached");
        EXPECT_EQ("T cached", socket->recv());
    }
    one.set(ZMQ_UNSUBSCRIBE, "T");
    EXPECT_EQ(cancel("T"), publisher_.recv());
    publisher_.set(ZMQ_UNSUBSCRIBE, "T");
    publisher_.send("T");
    EXPECT_EQ("T", two.recv());
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyLastValue);

} // namespace
} // namespace zlink::test
