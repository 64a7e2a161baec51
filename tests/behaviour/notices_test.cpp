// SPDX-License-Identifier: Apache-2.0
// Messages about connections: ZMQ_HELLO_MSG, ZMQ_DISCONNECT_MSG, ZMQ_HICCUP_MSG, ZMQ_ROUTER_NOTIFY.
#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

configuration with(int option, const std::string& value)
{
    return [=](test_socket& socket) { socket.set(option, value); };
}

configuration with(int option, int value)
{
    return [=](test_socket& socket) { socket.set(option, value); };
}

// --- ZMQ_HELLO_MSG ---------------------------------------------------------------------------

class Hello : public transport_test {};

TEST_P(Hello, is_the_first_message_in_both_directions)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_HELLO_MSG, "hello from router");
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "d");
    dealer.set(ZMQ_HELLO_MSG, "hello from dealer");
    dealer.connect(address);
    dealer.send("first");
    EXPECT_EQ((parts{"d", "hello from dealer"}), router.recv_parts());
    EXPECT_EQ((parts{"d", "first"}), router.recv_parts());
    router.send_parts({"d", "first"});
    EXPECT_EQ(parts{"hello from router"}, dealer.recv_parts());
    EXPECT_EQ(parts{"first"}, dealer.recv_parts());
}

TEST_P(Hello, reaches_every_peer)
{
    test_socket rep(context_, ZMQ_REP);
    rep.set(ZMQ_HELLO_MSG, "hello");
    const std::string address = rep.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int index = 0; index < 3; ++index) {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.connect(address);
        EXPECT_EQ(parts{"hello"}, dealer.recv_parts());
    }
}

TEST_P(Hello, waits_for_a_peer_that_binds_later)
{
    const std::string address = known_address(GetParam());
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "d");
    dealer.set(ZMQ_RECONNECT_IVL, 5);
    dealer.set(ZMQ_HELLO_MSG, "hello from dealer");
    dealer.connect(address);
    dealer.send("first");
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_HELLO_MSG, "hello from router");
    router.bind(address);
    EXPECT_EQ((parts{"d", "hello from dealer"}), router.recv_parts());
    EXPECT_EQ((parts{"d", "first"}), router.recv_parts());
    EXPECT_EQ(parts{"hello from router"}, dealer.recv_parts());
}

TEST_P(Hello, of_a_request_socket_comes_before_its_requests)
{
    auto [router, req, address] = link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {}, [](auto& s) {
        s.set(ZMQ_ROUTING_ID, "q");
        s.set(ZMQ_HELLO_MSG, "hello");
    });
    req.send("question");
    EXPECT_EQ((parts{"q", "hello"}), router.recv_parts());
    EXPECT_EQ((parts{"q", "", "question"}), router.recv_parts());
    router.send_parts({"q", "", "answer"});
    EXPECT_EQ("answer", req.recv());
}

TEST_P(Hello, is_ignored_by_a_server_that_waits_for_requests)
{
    auto [rep, req, address] =
        link(context_, GetParam(), ZMQ_REP, ZMQ_REQ, {}, with(ZMQ_HELLO_MSG, "hello"));
    req.send("question");
    EXPECT_EQ("question", rep.recv());
    rep.send("answer");
    EXPECT_EQ("answer", req.recv());
}

TEST_P(Hello, is_not_sent_by_types_that_do_not_greet)
{
    auto [pull, push, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, {}, with(ZMQ_HELLO_MSG, "hello"));
    push.send("message");
    EXPECT_EQ("message", pull.recv());
}

TEST_P(Hello, holds_for_endpoints_made_afterwards)
{
    test_socket router(context_, ZMQ_ROUTER);
    const std::string before = router.bind_and_resolve(fresh_bind_address(GetParam()));
    router.set(ZMQ_HELLO_MSG, "hello");
    const std::string between = router.bind_and_resolve(fresh_bind_address(GetParam()));
    router.set(ZMQ_HELLO_MSG, "");
    const std::string after = router.bind_and_resolve(fresh_bind_address(GetParam()));
    for (const std::string& address : {before, between, after}) {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, "d");
        dealer.connect(address);
        dealer.send("x");
        EXPECT_EQ((parts{"d", "x"}), router.recv_parts());
        router.send_parts({"d", "reply"});
        if (address == between) {
            EXPECT_EQ("hello", dealer.recv());
        }
        EXPECT_EQ("reply", dealer.recv());
        dealer.close();
        router.set(ZMQ_ROUTER_HANDOVER, 1);
    }
}

ZLINK_ALL_TRANSPORTS(Hello);

class HelloOnTheWire : public transport_test {};

TEST_P(HelloOnTheWire, comes_first_on_every_new_connection)
{
    const std::string address = known_address(GetParam());
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "d");
    dealer.set(ZMQ_RECONNECT_IVL, 5);
    dealer.set(ZMQ_HELLO_MSG, "hello");
    dealer.connect(address);
    for (int round = 0; round < 3; ++round) {
        test_socket router(context_, ZMQ_ROUTER);
        router.bind(address);
        EXPECT_EQ((parts{"d", "hello"}), router.recv_parts());
        EXPECT_FALSE(router.readable(1ms));
        dealer.send("message");
        EXPECT_EQ((parts{"d", "message"}), router.recv_parts());
    }
}

ZLINK_WIRE_TRANSPORTS(HelloOnTheWire);

// --- ZMQ_DISCONNECT_MSG ----------------------------------------------------------------------

class Disconnect : public transport_test {
protected:
    test_socket dealer(const std::string& address, const std::string& id)
    {
        test_socket socket(context_, ZMQ_DEALER);
        socket.set(ZMQ_ROUTING_ID, id);
        socket.set(ZMQ_LINGER, -1);
        socket.connect(address);
        return socket;
    }
};

TEST_P(Disconnect, is_the_last_message_of_a_peer_that_has_gone)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket stays = dealer(address, "stays");
    test_socket leaves = dealer(address, "leaves");
    for (int index = 0; index < 10; ++index)
        leaves.send_parts({std::to_string(index), "more"});
    leaves.close();
    for (int index = 0; index < 10; ++index)
        EXPECT_EQ((parts{"leaves", std::to_string(index), "more"}), router.recv_parts());
    EXPECT_EQ((parts{"leaves", "gone"}), router.recv_parts());
    stays.send("still here");
    EXPECT_EQ((parts{"stays", "still here"}), router.recv_parts());
}

TEST_P(Disconnect, is_received_when_a_peer_disconnects)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket peer = dealer(address, "d");
    peer.send("x");
    EXPECT_EQ((parts{"d", "x"}), router.recv_parts());
    peer.disconnect(address);
    EXPECT_EQ((parts{"d", "gone"}), router.recv_parts());
    EXPECT_FALSE(router.readable(quiet_window));
}

TEST_P(Disconnect, tells_a_reply_socket_too)
{
    test_socket rep(context_, ZMQ_REP);
    rep.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = rep.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket req(context_, ZMQ_REQ);
    req.connect(address);
    req.send("question");
    EXPECT_EQ("question", rep.recv());
    rep.send("answer");
    EXPECT_EQ("answer", req.recv());
    req.close();
    EXPECT_EQ(parts{"gone"}, rep.recv_parts());
    rep.send("nobody gets this");
    test_socket next(context_, ZMQ_REQ);
    next.connect(address);
    next.send("question");
    EXPECT_EQ("question", rep.recv());
}

TEST_P(Disconnect, is_not_for_types_that_do_not_know_it)
{
    test_socket bound(context_, ZMQ_DEALER);
    bound.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket peer = dealer(address, "d");
    peer.send("x");
    EXPECT_EQ("x", bound.recv());
    peer.close();
    EXPECT_FALSE(bound.readable(quiet_window));
}

TEST_P(Disconnect, is_received_by_a_router_that_connects)
{
    test_socket bound(context_, ZMQ_ROUTER);
    bound.set(ZMQ_ROUTING_ID, "bound");
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTING_ID, "connecting");
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    router.set(ZMQ_PROBE_ROUTER, 1);
    router.connect(address);
    EXPECT_EQ((parts{"connecting", ""}), bound.recv_parts());
    bound.send_parts({"connecting", "x"});
    EXPECT_EQ((parts{"bound", "x"}), router.recv_parts());
    bound.close();
    EXPECT_EQ((parts{"bound", "gone"}), router.recv_parts());
}

TEST_P(Disconnect, follows_even_more_messages_than_the_high_water_mark)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    router.set(ZMQ_RCVHWM, 2);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket peer = dealer(address, "d");
    for (int index = 0; index < 500; ++index)
        peer.send(std::to_string(index));
    peer.close();
    for (int index = 0; index < 500; ++index)
        ASSERT_EQ((parts{"d", std::to_string(index)}), router.recv_parts());
    EXPECT_EQ((parts{"d", "gone"}), router.recv_parts());
}

ZLINK_ALL_TRANSPORTS(Disconnect);

// --- ZMQ_HICCUP_MSG --------------------------------------------------------------------------

class Hiccup : public transport_test {};

TEST_P(Hiccup, tells_a_dealer_that_its_connection_is_made_again)
{
    const std::string address = known_address(GetParam());
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, 5);
    dealer.set(ZMQ_ROUTING_ID, "d");
    dealer.set(ZMQ_HICCUP_MSG, "hiccup");
    dealer.connect(address);
    for (int round = 0; round < 3; ++round) {
        test_socket router(context_, ZMQ_ROUTER);
        router.set(ZMQ_LINGER, -1);
        router.bind(address);
        dealer.send("x");
        EXPECT_EQ((parts{"d", "x"}), router.recv_parts());
        router.send_parts({"d", "last words"});
        router.close();
        EXPECT_EQ("last words", dealer.recv());
        EXPECT_EQ(parts{"hiccup"}, dealer.recv_parts());
        EXPECT_FALSE(dealer.readable(1ms)); // attempts that fail are no hiccups
    }
}

TEST_P(Hiccup, with_a_pipe_for_each_connection_is_its_last_message)
{
    const std::string address = known_address(GetParam());
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, 5);
    dealer.set(ZMQ_IMMEDIATE, 1);
    dealer.set(ZMQ_HICCUP_MSG, "hiccup");
    dealer.connect(address);
    test_socket router(context_, ZMQ_ROUTER);
    router.bind(address);
    dealer.send("x");
    EXPECT_EQ("x", router.recv_parts().back());
    router.close();
    EXPECT_EQ("hiccup", dealer.recv());
}

TEST_P(Hiccup, does_not_come_when_no_connection_follows)
{
    const std::string address = known_address(GetParam());
    test_socket router(context_, ZMQ_ROUTER);
    router.bind(address);
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, -1);
    dealer.set(ZMQ_HICCUP_MSG, "hiccup");
    dealer.connect(address);
    dealer.send("x");
    EXPECT_EQ("x", router.recv_parts().back());
    router.close();
    EXPECT_FALSE(dealer.readable(quiet_window));
}

TEST_P(Hiccup, does_not_come_at_the_side_that_accepts)
{
    test_socket bound(context_, ZMQ_DEALER);
    bound.set(ZMQ_HICCUP_MSG, "hiccup");
    const std::string address = bound.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket peer(context_, ZMQ_DEALER);
    peer.connect(address);
    peer.send("x");
    EXPECT_EQ("x", bound.recv());
    peer.close();
    EXPECT_FALSE(bound.readable(quiet_window));
}

TEST_P(Hiccup, ends_the_wait_for_a_reply)
{
    const std::string address = known_address(GetParam());
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_RECONNECT_IVL, 5);
    req.set(ZMQ_REQ_CORRELATE, 1);
    req.set(ZMQ_HICCUP_MSG, "hiccup");
    req.connect(address);
    for (int round = 0; round < 2; ++round) {
        test_socket rep(context_, ZMQ_REP);
        rep.set(ZMQ_LINGER, -1);
        rep.bind(address);
        req.send("question");
        EXPECT_EQ("question", rep.recv());
        rep.send("answer");
        EXPECT_EQ("answer", req.recv());
        req.send("question");
        EXPECT_EQ("question", rep.recv());
        rep.close();
        EXPECT_EQ(parts{"hiccup"}, req.recv_parts());
    }
    // One that comes while nothing is asked answers nothing.
    test_socket rep(context_, ZMQ_REP);
    rep.bind(address);
    req.send("question");
    EXPECT_EQ("question", rep.recv());
    rep.send("answer");
    EXPECT_EQ("answer", req.recv());
}

ZLINK_WIRE_TRANSPORTS(Hiccup);

// --- ZMQ_ROUTER_NOTIFY -----------------------------------------------------------------------

class RouterNotify : public transport_test {};

TEST_P(RouterNotify, shows_peers_that_come_and_go)
{
    for (const int events : {0, ZMQ_NOTIFY_CONNECT, ZMQ_NOTIFY_DISCONNECT,
                             ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT}) {
        test_socket router(context_, ZMQ_ROUTER);
        router.set(ZMQ_ROUTER_NOTIFY, events);
        const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_LINGER, -1);
        dealer.set(ZMQ_ROUTING_ID, "d");
        dealer.connect(address);
        if (events & ZMQ_NOTIFY_CONNECT) {
            EXPECT_EQ((parts{"d", ""}), router.recv_parts());
        }
        dealer.send("x");
        EXPECT_EQ((parts{"d", "x"}), router.recv_parts());
        dealer.close();
        if (events & ZMQ_NOTIFY_DISCONNECT) {
            EXPECT_EQ((parts{"d", ""}), router.recv_parts());
        }
        EXPECT_FALSE(router.readable(quiet_window));
    }
}

TEST_P(RouterNotify, can_be_answered_at_once)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.connect(address);
    const parts arrival = router.recv_parts();
    ASSERT_EQ(2u, arrival.size());
    router.send_parts({arrival[0], "welcome"});
    EXPECT_EQ("welcome", dealer.recv());
}

TEST_P(RouterNotify, comes_before_the_disconnect_message)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_DISCONNECT);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_LINGER, -1);
    dealer.set(ZMQ_ROUTING_ID, "d");
    dealer.connect(address);
    dealer.send("x");
    EXPECT_EQ((parts{"d", "x"}), router.recv_parts());
    dealer.close();
    EXPECT_EQ((parts{"d", ""}), router.recv_parts());
    EXPECT_EQ((parts{"d", "gone"}), router.recv_parts());
}

TEST_P(RouterNotify, is_accepted_by_reply_sockets_without_effect)
{
    auto [rep, req, address] =
        link(context_, GetParam(), ZMQ_REP, ZMQ_REQ,
             with(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT));
    req.send("question");
    EXPECT_EQ("question", rep.recv());
    rep.send("answer");
    EXPECT_EQ("answer", req.recv());
    req.close();
    EXPECT_FALSE(rep.readable(quiet_window));
}

ZLINK_WIRE_TRANSPORTS(RouterNotify);

class VanishingPeer : public ::testing::Test {
protected:
    test_context context_;
};

TEST_F(VanishingPeer, takes_its_unfinished_message_along)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = router.bind_and_resolve("tcp://127.0.0.1:*");
    {
        const raw_peer dealer(address);
        zmtp::shake_hands(dealer, "DEALER", 1, zmtp::property("Identity", "raw"));
        EXPECT_EQ((parts{"raw", ""}), router.recv_parts());
        dealer.send(zmtp::frame("whole") + zmtp::frame("begun", zmtp::more) +
                    zmtp::frame("more", zmtp::more) + "\0\x7fthe last part is cut"s);
        EXPECT_EQ((parts{"raw", "whole"}), router.recv_parts());
    }
    EXPECT_EQ((parts{"raw", ""}), router.recv_parts());
    EXPECT_EQ((parts{"raw", "gone"}), router.recv_parts());
    EXPECT_FALSE(router.readable(quiet_window));
}

TEST_F(VanishingPeer, that_never_finished_its_handshake_is_not_told_of)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = router.bind_and_resolve("tcp://127.0.0.1:*");
    test_socket of_another_kind(context_, ZMQ_PUB);
    of_another_kind.connect(address);
    EXPECT_FALSE(router.readable(quiet_window));
}

TEST(InprocNotify, has_no_connections_to_tell_of)
{
    test_context context;
    test_socket router(context, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT);
    router.bind("inproc://quiet");
    test_socket dealer(context, ZMQ_DEALER);
    dealer.connect("inproc://quiet");
    dealer.close();
    EXPECT_FALSE(router.readable(quiet_window));
}

// --- all of them ----------------------------------------------------------------------------

class NoticeEndpoints : public transport_test {};

TEST_P(NoticeEndpoints, tell_a_router_what_it_wanted_to_know_when_they_were_made)
{
    test_socket router(context_, ZMQ_ROUTER);
    const std::string silent = router.bind_and_resolve(fresh_bind_address(GetParam()));
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT);
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string telling = router.bind_and_resolve(fresh_bind_address(GetParam()));
    router.set(ZMQ_ROUTER_NOTIFY, 0);
    router.set(ZMQ_DISCONNECT_MSG, "");
    for (const std::string& address : {silent, telling}) {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, "d");
        dealer.set(ZMQ_LINGER, -1);
        dealer.connect(address);
        if (address == telling) {
            EXPECT_EQ((parts{"d", ""}), router.recv_parts());
        }
        dealer.send("x");
        EXPECT_EQ((parts{"d", "x"}), router.recv_parts());
        dealer.close();
        if (address == telling) {
            EXPECT_EQ((parts{"d", "gone"}), router.recv_parts());
        }
        EXPECT_FALSE(router.readable(quiet_window));
    }
}

ZLINK_WIRE_TRANSPORTS(NoticeEndpoints);

TEST(NoticesOnTheWire, are_hello_and_nothing_else)
{
    test_context context;
    const raw_listener listener;
    test_socket dealer(context, ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, 5);
    dealer.set(ZMQ_HELLO_MSG, "HELLO");
    dealer.set(ZMQ_HICCUP_MSG, "hiccup");
    dealer.connect(listener.endpoint());
    test_socket router(context, ZMQ_ROUTER);
    router.set(ZMQ_HELLO_MSG, "HELLO");
    router.set(ZMQ_DISCONNECT_MSG, "gone");
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT);
    const std::string address = router.bind_and_resolve("tcp://127.0.0.1:*");
    for (int round = 0; round < 2; ++round)
        for (const raw_peer& peer : {listener.accept(), raw_peer(address)}) {
            zmtp::shake_hands(peer, "DEALER");
            EXPECT_EQ("\0\5HELLO"s, zmtp::recv_frame(peer));
            peer.send(zmtp::ping());
            EXPECT_EQ(zmtp::pong(), zmtp::recv_frame(peer));
        }
    EXPECT_EQ("hiccup", dealer.recv());
}

/// CLIENT and SERVER, and PEER.
class NoticesOfDrafts : public transport_test {};

TEST_P(NoticesOfDrafts, hello_is_said_by_both_sides)
{
    for (const auto& [bound_type, peer_type] :
         {std::pair{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PEER, ZMQ_PEER}}) {
        auto [bound, peer, address] =
            link(context_, GetParam(), bound_type, peer_type, with(ZMQ_HELLO_MSG, "from bound"),
                 with(ZMQ_HELLO_MSG, "from peer"));
        draft_message greeting;
        receive(bound, greeting);
        EXPECT_EQ("from peer", greeting.body());
        EXPECT_EQ("from bound", peer.recv());
        EXPECT_EQ(5, send_to(bound, greeting.routing_id(), "reply"));
        EXPECT_EQ("reply", peer.recv());
    }
}

TEST_P(NoticesOfDrafts, disconnect_is_the_last_message_of_a_peer_that_has_gone)
{
    for (const auto& [bound_type, peer_type] :
         {std::pair{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PEER, ZMQ_PEER}}) {
        auto [bound, peer, address] =
            link(context_, GetParam(), bound_type, peer_type, with(ZMQ_DISCONNECT_MSG, "gone"),
                 with(ZMQ_HELLO_MSG, "hello"));
        draft_message first;
        receive(bound, first);
        EXPECT_EQ("hello", first.body());
        peer.close();
        draft_message last;
        receive(bound, last);
        EXPECT_EQ("gone", last.body());
        EXPECT_EQ(first.routing_id(), last.routing_id());
        EXPECT_FALSE(bound.readable(quiet_window));
    }
}

ZLINK_ALL_TRANSPORTS(NoticesOfDrafts);

class HiccupOfDrafts : public transport_test {};

TEST_P(HiccupOfDrafts, tells_of_a_connection_that_is_made_again)
{
    for (const auto& [bound_type, peer_type] :
         {std::pair{ZMQ_SERVER, ZMQ_CLIENT}, {ZMQ_PEER, ZMQ_PEER}}) {
        const std::string address = known_address(GetParam());
        test_socket peer(context_, peer_type);
        peer.set(ZMQ_RECONNECT_IVL, 5);
        peer.set(ZMQ_HELLO_MSG, "hello");
        peer.set(ZMQ_HICCUP_MSG, "hiccup");
        peer.connect(address);
        for (int round = 0; round < 2; ++round) {
            test_socket bound(context_, bound_type);
            bound.bind(address);
            EXPECT_EQ("hello", bound.recv());
            bound.close();
            EXPECT_EQ("hiccup", peer.recv());
        }
    }
}

ZLINK_WIRE_TRANSPORTS(HiccupOfDrafts);

// --- after a notice that a peer has gone, nothing can be sent to it

constexpr int vanishing_peers = 100;

class Gone : public transport_test {};

TEST_P(Gone, peers_of_a_router_are_unreachable_at_once)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_DISCONNECT);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int index = 0; index < vanishing_peers; ++index) {
        test_socket peer(context_, ZMQ_DEALER);
        peer.connect(address);
        peer.send("hello");
        const std::string id = router.recv_parts().front();
        peer.close();
        ASSERT_EQ((parts{id, ""}), router.recv_parts());
        ASSERT_TRUE(fails_with(EHOSTUNREACH, zmq_send(router, id.data(), id.size(), ZMQ_SNDMORE)))
            << index;
    }
}

class ZlinkOnlyGone : public Gone {};

TEST_P(ZlinkOnlyGone, peers_of_a_server_are_unreachable_at_once)
{
    test_socket server(context_, ZMQ_SERVER);
    server.set(ZMQ_DISCONNECT_MSG, "gone");
    const std::string address = server.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int index = 0; index < vanishing_peers; ++index) {
        test_socket peer(context_, ZMQ_CLIENT);
        peer.connect(address);
        peer.send("hello");
        draft_message hello;
        receive(server, hello);
        peer.close();
        ASSERT_EQ("gone", server.recv());
        ASSERT_EQ(-1, send_to(server, hello.routing_id(), "x")) << index;
        ASSERT_EQ(EHOSTUNREACH, zmq_errno());
    }
}

ZLINK_WIRE_TRANSPORTS(Gone);
ZLINK_WIRE_TRANSPORTS(ZlinkOnlyGone);

class ZlinkOnlyGoneFromStream : public Gone {};

TEST_P(ZlinkOnlyGoneFromStream, peers_of_a_stream_are_unreachable_at_once)
{
    test_socket stream(context_, ZMQ_STREAM);
    const std::string address = stream.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int index = 0; index < vanishing_peers; ++index) {
        raw_peer peer(address);
        const std::string id = stream.recv_parts().front();
        peer.close();
        ASSERT_EQ((parts{id, ""}), stream.recv_parts());
        ASSERT_TRUE(fails_with(EHOSTUNREACH, zmq_send(stream, id.data(), id.size(), ZMQ_SNDMORE)))
            << index;
    }
}

ZLINK_LINKS_WITH(ZlinkOnlyGoneFromStream, has_plain_zmtp);

} // namespace
} // namespace zlink::test
