// SPDX-License-Identifier: Apache-2.0
// ZMQ_MAXMSGSIZE limits the parts of messages, and nothing else. A part above it ends the
// connection, which is made again by the rules of the side that has made it.
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t limit_bytes = 100;
const std::string too_large(limit_bytes + 1, 'L');

void limit(test_socket& socket)
{
    limit_messages(socket, limit_bytes);
}

void reconnect_fast(test_socket& socket)
{
    socket.set(ZMQ_RECONNECT_IVL, 5);
}

class MaxMessageSize : public transport_test {};

TEST_P(MaxMessageSize, does_not_limit_the_handshake)
{
    for (const std::int64_t limit : {0, 1, 16, 40}) {
        const std::string largest(static_cast<std::size_t>(limit), 'x');
        auto [pull, push, address] = link(
            context_, GetParam(), ZMQ_PULL, ZMQ_PUSH,
            [&](test_socket& socket) { limit_messages(socket, limit); },
            [](test_socket& socket) { limit_messages(socket, 0); });
        for (int index = 0; index < 10; ++index) {
            push.send(largest);
            ASSERT_EQ(largest, pull.recv());
        }
    }
}

TEST_P(MaxMessageSize, limits_no_routing_id)
{
    const std::string id(255, 'i');
    auto [router, dealer, address] = link(
        context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER,
        [](test_socket& socket) { limit_messages(socket, 1); },
        [&](test_socket& socket) { socket.set(ZMQ_ROUTING_ID, id); });
    dealer.send("x");
    EXPECT_EQ((parts{id, "x"}), router.recv_parts());
    router.send_parts({id, "a longer answer"});
    EXPECT_EQ("a longer answer", dealer.recv());
}

TEST_P(MaxMessageSize, holds_for_each_part_of_a_message)
{
    auto [pull, push, address] = link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, limit);
    const parts message(20, std::string(limit_bytes, 'p'));
    push.send_parts(message);
    EXPECT_EQ(message, pull.recv_parts());
}

ZLINK_ALL_TRANSPORTS(MaxMessageSize);

class MaxMessageSizeAndSubscriptions : public transport_test {};

TEST_P(MaxMessageSizeAndSubscriptions, limits_none)
{
    const std::string topic(300, 't');
    auto [xpub, sub, address] = link(
        context_, GetParam(), ZMQ_XPUB, ZMQ_SUB,
        [](test_socket& socket) { limit_messages(socket, 1); },
        [&](test_socket& socket) { socket.set(ZMQ_SUBSCRIBE, topic); });
    EXPECT_EQ('\1' + topic, xpub.recv());
    xpub.send(topic + " and more");
    EXPECT_EQ(topic + " and more", sub.recv());
}

ZLINK_LINKS_WITH(MaxMessageSizeAndSubscriptions, has_subscribe_command);

class AboveMaxMessageSize : public transport_test {
protected:
    void expect_all(test_socket& from, test_socket& to, const std::string& body)
    {
        for (int index = 0; index < 50; ++index)
            from.send(body + std::to_string(index));
        for (int index = 0; index < 50; ++index)
            ASSERT_EQ(body + std::to_string(index), to.recv());
    }
};

TEST_P(AboveMaxMessageSize, a_message_is_lost_and_those_sent_on_the_next_connection_arrive)
{
    auto [pull, push, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, limit, reconnect_fast);
    listening_post post(context_, push, ZMQ_EVENT_DISCONNECTED);
    listening_post bound(context_, pull, ZMQ_EVENT_DISCONNECTED);
    for (const parts& message : {parts{too_large}, parts{"first", too_large, "last"},
                                 parts{std::string(1'000'000, 'L')}}) {
        expect_all(push, pull, "before ");
        push.send_parts(message);
        post.expect(ZMQ_EVENT_DISCONNECTED);
        bound.expect(ZMQ_EVENT_DISCONNECTED);
        expect_all(push, pull, "after ");
    }
    EXPECT_FALSE(pull.readable(quiet_window));
}

TEST_P(AboveMaxMessageSize, the_side_that_receives_connects_again)
{
    auto [push, pull, address] =
        link(context_, GetParam(), ZMQ_PUSH, ZMQ_PULL, {}, [](test_socket& socket) {
            limit(socket);
            reconnect_fast(socket);
        });
    listening_post post(context_, pull);
    for (int round = 0; round < 5; ++round) {
        expect_all(push, pull, "before ");
        push.send(too_large);
        told seen;
        do
            seen = post.next();
        while (seen.event != ZMQ_EVENT_DISCONNECTED);
        EXPECT_LE(5u, post.expect(ZMQ_EVENT_CONNECT_RETRIED).values.at(0));
        // The bound side may still have the old connection, and lose with it what it sends.
        ASSERT_TRUE(wait_until([&] {
            push.try_send("again");
            return pull.readable(1ms);
        }));
        while (pull.readable(quiet_window))
            EXPECT_EQ("again", pull.recv());
    }
}

TEST_P(AboveMaxMessageSize, is_no_reason_to_connect_again_at_once)
{
    raw_listener listener(GetParam());
    test_socket pull(context_, ZMQ_PULL);
    limit(pull);
    pull.set(ZMQ_RECONNECT_IVL, 30);
    pull.connect(listener.endpoint());
    const stopwatch watch;
    for (int round = 0; round < 5; ++round) {
        const raw_peer push = listener.accept();
        zmtp::shake_hands(push, "PUSH");
        push.send(zmtp::frame(too_large));
        push.recv_to_end();
    }
    EXPECT_LE(4 * 30, watch.elapsed_ms());
    EXPECT_FALSE(pull.readable(1ms));
}

TEST_P(AboveMaxMessageSize, ends_an_endpoint_that_makes_one_connection_only)
{
    raw_listener listener(GetParam());
    test_socket pull(context_, ZMQ_PULL);
    limit(pull);
    pull.set(ZMQ_RECONNECT_IVL, -1);
    pull.connect(listener.endpoint());
    const raw_peer push = listener.accept();
    zmtp::shake_hands(push, "PUSH");
    push.send(zmtp::frame(too_large));
    push.recv_to_end();
    EXPECT_FALSE(listener.has_caller(quiet_window));
}

TEST_P(AboveMaxMessageSize, what_breaks_the_protocol_is_not_tried_again)
{
    raw_listener listener(GetParam());
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_RECONNECT_IVL, 5);
    req.connect(listener.endpoint());
    const raw_peer rep = listener.accept();
    zmtp::shake_hands(rep, "REP");
    rep.send(zmtp::frame("no envelope"));
    rep.recv_to_end();
    EXPECT_FALSE(listener.has_caller(quiet_window));
}

TEST_P(AboveMaxMessageSize, commands_pass)
{
    raw_listener listener(GetParam());
    test_socket pull(context_, ZMQ_PULL);
    limit_messages(pull, 1);
    pull.connect(listener.endpoint());
    const raw_peer push = listener.accept();
    zmtp::shake_hands(push, "PUSH");
    push.send(zmtp::ping(0, "context") + zmtp::frame("x"));
    EXPECT_EQ(zmtp::pong("context"), zmtp::recv_frame(push));
    EXPECT_EQ("x", pull.recv());
}

TEST_P(AboveMaxMessageSize, an_older_peer_may_have_a_longer_id)
{
    test_socket router(context_, ZMQ_ROUTER);
    limit_messages(router, 3);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    const std::string id = "an id of more than three bytes";
    const raw_peer dealer(address);
    // ZMTP 2.0: signature, revision 1, DEALER, and the id in a frame.
    dealer.send(std::string("\xff\0\0\0\0\0\0\0\1\x7f\1\5", 12) + zmtp::frame(id));
    dealer.send(zmtp::frame("abc") + zmtp::frame("abcd"));
    EXPECT_EQ((parts{id, "abc"}), router.recv_parts());
    dealer.recv_to_end();
    EXPECT_FALSE(router.readable(1ms));
}

// It has no commands: its subscriptions are messages.
TEST_P(AboveMaxMessageSize, an_older_subscriber_is_limited_as_others_who_send)
{
    test_socket xpub(context_, ZMQ_XPUB);
    limit_messages(xpub, 4);
    const std::string address = xpub.bind_and_resolve(fresh_bind_address(GetParam()));
    const raw_peer sub(address);
    zmtp::shake_hands(sub, "SUB", 0);
    sub.send(zmtp::frame("\1abc") + zmtp::frame("\1abcd"));
    EXPECT_EQ("\1abc", xpub.recv());
    sub.recv_to_end();
    EXPECT_EQ(std::string("\0abc", 4), xpub.recv());
}

ZLINK_LINKS_WITH(AboveMaxMessageSize, has_plain_zmtp);

} // namespace
} // namespace zlink::test
