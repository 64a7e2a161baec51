// SPDX-License-Identifier: Apache-2.0
// XPUB and XSUB: subscriptions as messages.
#define ZMQ_BUILD_DRAFT_API
#include "support/xpub.hpp"
#include "support/zmtp.hpp"

#include <algorithm>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class XPubXSub : public xpub_test {};
/// Where the peers have addresses.
class XPubXSubByAddress : public XPubXSub {};

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
    expect_every_request_shown();
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

TEST_P(XPubXSub, verboser_shows_as_many_cancellations_as_are_sent)
{
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.set(ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, 1);
    for (const std::string& request :
         {subscribe("a"), subscribe("a"), cancel("a"), cancel("a"), cancel("never")}) {
        socket.send(request);
        EXPECT_EQ(request, publisher_.recv());
    }
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

TEST_P(XPubXSub, without_drop_a_publisher_calls_itself_writable_even_while_it_would_wait)
{
    auto [publisher, subscriber, address] = link(
        context_, GetParam(), ZMQ_XPUB, ZMQ_SUB,
        [](test_socket& socket) {
            socket.set(ZMQ_XPUB_NODROP, 1);
            socket.set(ZMQ_SNDHWM, 2);
            socket.set(ZMQ_SNDTIMEO, 100);
        },
        [](test_socket& socket) {
            socket.set(ZMQ_RCVHWM, 2);
            socket.set(ZMQ_SUBSCRIBE, "");
        });
    publisher.recv();
    const std::string body(100'000, 'x');
    while (zmq_send(publisher, body.data(), body.size(), 0) != -1) {
    }
    EXPECT_FALSE(publisher.try_send("x"));
    EXPECT_NE(0, publisher.events() & ZMQ_POLLOUT);
    EXPECT_TRUE(publisher.writable(0ms));
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

TEST_P(XPubXSub, verbose_after_verboser_shows_only_the_last_cancellation)
{
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    publisher_.set(ZMQ_XPUB_VERBOSE, 1);
    test_socket one = subscriber();
    test_socket two = subscriber();
    for (test_socket* socket : {&one, &two}) {
        socket->set(ZMQ_SUBSCRIBE, "a");
        EXPECT_EQ(subscribe("a"), publisher_.recv());
    }
    one.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_FALSE(publisher_.readable(quiet_window));
    two.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(cancel("a"), publisher_.recv());
}

TEST_P(XPubXSub, verboser_shows_the_topics_of_everybody_who_leaves)
{
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    std::vector<test_socket> sockets;
    for (int index = 0; index < 2; ++index) {
        sockets.push_back(subscriber());
        sockets.back().set(ZMQ_SUBSCRIBE, "a");
        EXPECT_EQ(subscribe("a"), publisher_.recv());
        sockets.back().set(ZMQ_SUBSCRIBE, "b");
        EXPECT_EQ(subscribe("b"), publisher_.recv());
    }
    while (!sockets.empty()) {
        sockets.pop_back();
        EXPECT_EQ(cancel("a"), publisher_.recv());
        EXPECT_EQ(cancel("b"), publisher_.recv());
    }
}

TEST_P(XPubXSub, count_their_topics)
{
    EXPECT_EQ(0, publisher_.get(ZMQ_TOPICS_COUNT));
    test_socket one = subscriber();
    test_socket two = subscriber(ZMQ_XSUB);
    one.set(ZMQ_SUBSCRIBE, "a");
    one.set(ZMQ_SUBSCRIBE, "a");
    one.set(ZMQ_SUBSCRIBE, "");
    two.send(subscribe("a"));
    two.send(subscribe("b"));
    EXPECT_EQ(2, one.get(ZMQ_TOPICS_COUNT));
    EXPECT_EQ(2, two.get(ZMQ_TOPICS_COUNT));
    ASSERT_TRUE(
        wait_until([&] { return publisher_.events() && publisher_.get(ZMQ_TOPICS_COUNT) == 3; }));
    one.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(2, one.get(ZMQ_TOPICS_COUNT));
    one.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(1, one.get(ZMQ_TOPICS_COUNT));
    one.set(ZMQ_UNSUBSCRIBE, "never subscribed");
    EXPECT_EQ(1, one.get(ZMQ_TOPICS_COUNT));
    two.send(cancel("b"));
    EXPECT_EQ(1, two.get(ZMQ_TOPICS_COUNT));
    ASSERT_TRUE(
        wait_until([&] { return publisher_.events() && publisher_.get(ZMQ_TOPICS_COUNT) == 2; }));
}

TEST_P(XPubXSubByAddress, show_who_sent_what_arrives_from_subscribers)
{
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.send(subscribe("a"));
    socket.send("message");
    for (int index = 0; index < 2; ++index) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        ASSERT_LT(0, zmq_msg_recv(&message, publisher_, 0));
        EXPECT_STREQ("127.0.0.1", zmq_msg_gets(&message, "Peer-Address"));
        EXPECT_STREQ("XSUB", zmq_msg_gets(&message, "Socket-Type"));
        zmq_msg_close(&message);
    }
}

TEST_P(XPubXSub, a_welcome_message_reaches_an_xsub_without_subscription)
{
    publisher_.set(ZMQ_XPUB_WELCOME_MSG, "welcome");
    test_socket xsub = subscriber(ZMQ_XSUB);
    publisher_.events();
    EXPECT_TRUE(wait_until([&] { return publisher_.events() && xsub.readable(2ms); }));
    EXPECT_EQ("welcome", xsub.recv());
}

TEST_P(XPubXSub, an_xsub_need_not_invert_what_its_publisher_inverts)
{
    publisher_.set(ZMQ_INVERT_MATCHING, 1);
    test_socket xsub = subscriber(ZMQ_XSUB);
    xsub.send(subscribe("a"));
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    publisher_.send("abc");
    publisher_.send("xyz");
    EXPECT_EQ("xyz", xsub.recv());
}

TEST_P(XPubXSub, large_messages_reach_every_subscriber_undamaged)
{
    std::vector<test_socket> sockets;
    for (int index = 0; index < 4; ++index) {
        sockets.push_back(subscriber());
        sockets.back().set(ZMQ_SUBSCRIBE, "");
        publish_until_received(publisher_, sockets.back(), "ready");
        for (test_socket& socket : sockets)
            while (socket.try_recv_parts(2ms))
                ;
    }
    for (const std::size_t size : {4095, 4096, 8191, 8192, 100'000, 2'000'000}) {
        const parts message{std::string(size, 'a'), "small", std::string(size, 'b')};
        publisher_.send_parts(message);
        for (test_socket& socket : sockets)
            EXPECT_EQ(message, socket.recv_parts());
    }
}

TEST_P(XPubXSub, a_message_of_an_xsub_goes_to_every_publisher_that_has_room)
{
    test_socket xsub(context_, ZMQ_XSUB);
    xsub.set(ZMQ_SNDHWM, 20);
    xsub.connect(known_address(GetParam())); // full after twenty messages
    std::vector<test_socket> publishers;
    for (int index = 0; index < 2; ++index) {
        publishers.emplace_back(context_, ZMQ_XPUB);
        xsub.connect(publishers.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    for (int index = 0; index < 50; ++index) {
        const parts message{"message " + std::to_string(index), "to all"};
        xsub.send_parts(message);
        for (test_socket& publisher : publishers)
            EXPECT_EQ(message, publisher.recv_parts());
        xsub.events(); // hears what has been read
    }
}

ZLINK_ALL_TRANSPORTS(XPubXSub);
ZLINK_LINKS_WITH(XPubXSubByAddress, has_ports);

class ZlinkOnlyXPub : public XPubXSub {};

TEST_P(ZlinkOnlyXPub, a_publisher_that_cannot_receive_drops_messages_of_subscribers)
{
    test_socket publisher(context_, ZMQ_PUB);
    test_socket xsub(context_, ZMQ_XSUB);
    xsub.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    for (int index = 0; index < 2000; ++index)
        xsub.send_parts({"message " + std::to_string(index), subscribe("x")});
    xsub.send(subscribe("a"));
    publish_until_received(publisher, xsub, "a");
    EXPECT_TRUE(fails_with(ENOTSUP, zmq_recv(publisher, nullptr, 0, ZMQ_DONTWAIT)));
}

TEST_P(ZlinkOnlyXPub, topics_of_subscribers_that_left_are_not_counted)
{
    test_socket socket = subscriber();
    socket.set(ZMQ_SUBSCRIBE, "a");
    ASSERT_TRUE(wait_until([&] { return publisher_.get(ZMQ_TOPICS_COUNT) == 1; }));
    socket.close();
    ASSERT_TRUE(wait_until([&] { return publisher_.get(ZMQ_TOPICS_COUNT) == 0; }));
}

TEST_P(ZlinkOnlyXPub, a_verbose_xsub_forwards_every_cancellation)
{
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    test_socket socket = subscriber(ZMQ_XSUB);
    socket.set(ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, 1);
    for (int index = 0; index < 2; ++index) {
        socket.send(subscribe("a"));
        EXPECT_EQ(subscribe("a"), publisher_.recv());
    }
    for (int index = 0; index < 3; ++index) {
        socket.send(cancel("a"));
        EXPECT_EQ(cancel("a"), publisher_.recv());
    }
    socket.set(ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, 0);
    socket.send(cancel("a"));
    EXPECT_FALSE(publisher_.readable(quiet_window));
}

TEST(XSubOptions, verbose_unsubscribe_belongs_to_xsub_only)
{
    test_context context;
    for (int type = ZMQ_PAIR; type <= ZMQ_XSUB; ++type) {
        test_socket socket(context, type);
        const int on = 1;
        const int result = zmq_setsockopt(socket, ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, &on, sizeof on);
        if (type == ZMQ_XSUB)
            EXPECT_EQ(0, result);
        else
            EXPECT_TRUE(fails_with(EINVAL, result)) << type;
    }
}

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

TEST_P(ZlinkOnlyXPub, a_topic_is_cancelled_when_its_subscriber_disconnects)
{
    test_socket socket = subscriber();
    socket.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(subscribe("a"), publisher_.recv());
    ASSERT_EQ(0, zmq_disconnect(socket, address_.c_str()));
    EXPECT_EQ(cancel("a"), publisher_.recv());
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyXPub);

// Over inproc, and with libzmq over all, it sees one.
class ZlinkOnlyVerbose : public xpub_test {};

TEST_P(ZlinkOnlyVerbose, shows_every_subscription_that_was_made_before_the_connection)
{
    publisher_.set(ZMQ_XPUB_VERBOSE, 1);
    for (const int type : {ZMQ_SUB, ZMQ_XSUB}) {
        test_socket socket(context_, type);
        for (const char* const topic : {"a", "a", "b"})
            if (type == ZMQ_SUB)
                socket.set(ZMQ_SUBSCRIBE, topic);
            else
                socket.send(subscribe(topic));
        socket.connect(address_);
        parts seen;
        for (int index = 0; index < 3; ++index)
            seen.push_back(publisher_.recv());
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ((parts{subscribe("a"), subscribe("a"), subscribe("b")}), seen);
        socket.close();
        for (int index = 0; index < 2; ++index)
            EXPECT_EQ('\0', publisher_.recv().front());
    }
}

ZLINK_WIRE_TRANSPORTS(ZlinkOnlyVerbose);

class XPubAtRunTime : public xpub_test {
protected:
    XPubAtRunTime()
    {
        subscriber_ = subscriber();
        subscriber_.set(ZMQ_SUBSCRIBE, "a");
        EXPECT_EQ(subscribe("a"), publisher_.recv());
    }
    /// Does the publisher hear of another one that wants "a"?
    bool hears_of_another()
    {
        others_.push_back(subscriber());
        others_.back().set(ZMQ_SUBSCRIBE, "a");
        const std::string own = "own " + std::to_string(others_.size());
        others_.back().set(ZMQ_SUBSCRIBE, own);
        const std::string heard = publisher_.recv();
        if (heard == subscribe(own))
            return false;
        EXPECT_EQ(subscribe("a"), heard);
        EXPECT_EQ(subscribe(own), publisher_.recv());
        return true;
    }

    test_socket subscriber_;
    std::vector<test_socket> others_;
};

TEST_P(XPubAtRunTime, becomes_verbose_and_quiet)
{
    EXPECT_FALSE(hears_of_another());
    publisher_.set(ZMQ_XPUB_VERBOSE, 1);
    EXPECT_TRUE(hears_of_another());
    publisher_.set(ZMQ_XPUB_VERBOSE, 0);
    EXPECT_FALSE(hears_of_another());
    publisher_.set(ZMQ_XPUB_VERBOSER, 1);
    EXPECT_TRUE(hears_of_another());
    publisher_.set(ZMQ_XPUB_VERBOSER, 0);
    EXPECT_FALSE(hears_of_another());
}

TEST_P(XPubAtRunTime, is_not_verbose_once_verboser_was_taken_back)
{
    publisher_.set(ZMQ_XPUB_VERBOSE, 1);
    publisher_.set(ZMQ_XPUB_VERBOSER, 0);
    EXPECT_FALSE(hears_of_another());
}

TEST_P(XPubAtRunTime, begins_and_ends_to_decide_by_itself)
{
    publisher_.set(ZMQ_XPUB_MANUAL, 1);
    subscriber_.set(ZMQ_SUBSCRIBE, "b");
    EXPECT_EQ(subscribe("b"), publisher_.recv());
    publisher_.set(ZMQ_XPUB_MANUAL, 0);
    subscriber_.set(ZMQ_SUBSCRIBE, "c");
    EXPECT_EQ(subscribe("c"), publisher_.recv());
    for (const char* body : {"b: not granted", "c", "a"})
        publisher_.send(body);
    EXPECT_EQ("c", subscriber_.recv());
    EXPECT_EQ("a", subscriber_.recv());
}

TEST_P(XPubAtRunTime, inverts_at_once)
{
    for (const int inverted : {1, 0, 1}) {
        publisher_.set(ZMQ_INVERT_MATCHING, inverted);
        subscriber_.set(ZMQ_INVERT_MATCHING, inverted);
        publisher_.send(inverted ? "a" : "b");
        publisher_.send(inverted ? "b last" : "a last");
        EXPECT_EQ(inverted ? "b last" : "a last", subscriber_.recv());
    }
}

TEST_P(XPubAtRunTime, begins_and_ends_to_drop)
{
    publisher_.set(ZMQ_SNDHWM, 2);
    subscriber_.set(ZMQ_RCVHWM, 2);
    publisher_.set(ZMQ_XPUB_NODROP, 1);
    const std::string body = "a" + std::string(50'000, 'n');
    int accepted = 0;
    while (publisher_.try_send(body))
        ASSERT_GT(100'000, ++accepted);
    publisher_.set(ZMQ_XPUB_NODROP, 0);
    constexpr int more = 1000; // than all buffers take; for the first there may be room meanwhile
    const std::string later = "a, later" + body;
    for (int index = 0; index < more; ++index)
        ASSERT_TRUE(publisher_.try_send(later)) << index;
    for (int index = 0; index < accepted; ++index)
        EXPECT_EQ(body, subscriber_.recv());
    int not_dropped = 0;
    for (; subscriber_.readable(quiet_window); ++not_dropped)
        EXPECT_EQ(later, subscriber_.recv());
    EXPECT_LT(not_dropped, more);
}

ZLINK_ALL_TRANSPORTS(XPubAtRunTime);

TEST(UnversionedSubscriber, is_shown_as_one_who_wants_everything)
{
    test_context context;
    raw_link at(context, ZMQ_XPUB);
    at.peer.send("\1\0"s); // no identity
    EXPECT_EQ(parts{subscribe("")}, at.socket.recv_parts());
}

} // namespace
} // namespace zlink::test
