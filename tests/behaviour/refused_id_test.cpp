// SPDX-License-Identifier: Apache-2.0
// A ROUTER without ROUTER_HANDOVER turns away whoever announces a routing id that another peer has:
// the connection ends, and is made again by the rules of the side that has made it.
#include "support/listening_post.hpp"
#include "support/raw_peer.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class RefusedId : public transport_test {
protected:
    explicit RefusedId(const configuration& configure = {}) { begin(configure); }

    /// A router that knows nobody.
    void begin(const configuration& configure = {})
    {
        router_ = test_socket(context_, ZMQ_ROUTER);
        router_.set(ZMQ_ROUTER_MANDATORY, 1);
        router_.set(ZMQ_RECONNECT_IVL, 5);
        if (configure)
            configure(router_);
        address_ = router_.bind_and_resolve(fresh_bind_address(GetParam()));
    }

    test_socket unconnected(int interval_ms = 5)
    {
        test_socket socket(context_, ZMQ_DEALER);
        socket.set(ZMQ_ROUTING_ID, "same");
        socket.set(ZMQ_RECONNECT_IVL, interval_ms);
        return socket;
    }
    test_socket dealer(int interval_ms = 5)
    {
        test_socket socket = unconnected(interval_ms);
        socket.connect(address_);
        return socket;
    }
    /// One that has the id.
    test_socket owner()
    {
        test_socket socket = dealer();
        hear(socket, "from the owner");
        return socket;
    }
    raw_peer raw_dealer() const
    {
        raw_peer peer(address_);
        zmtp::shake_hands(peer, "DEALER", 1, zmtp::property("Identity", "same"));
        return peer;
    }
    void hear(test_socket& from, const std::string& body)
    {
        from.send(body);
        EXPECT_EQ((parts{"same", body}), router_.recv_parts());
    }
    void expect_owner(test_socket& owner)
    {
        router_.send_parts({"same", "yours"});
        std::string body;
        do
            body = owner.recv();
        while (body == to_any_owner);
        EXPECT_EQ("yours", body);
    }
    /// Sends `to_any_owner`, if anybody has the id.
    bool is_free()
    {
        const bool unknown = zmq_send(router_, "same", 4, ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1;
        if (!unknown)
            router_.send(to_any_owner);
        return unknown;
    }
    void expect_to_be_taken_in(test_socket& newcomer)
    {
        ASSERT_TRUE(wait_until([&] { return !is_free() && newcomer.readable(1ms); }));
        for (int index = 0; index < 100; ++index)
            newcomer.send(std::to_string(index));
        for (int index = 0; index < 100; ++index)
            ASSERT_EQ((parts{"same", std::to_string(index)}), router_.recv_parts());
    }
    /// Events up to this one, which the router's own thread may have to bring about.
    told wait_for(listening_post& post, std::uint64_t event)
    {
        for (;;) {
            EXPECT_TRUE(wait_until([&] {
                router_.events();
                return post.socket().readable(1ms);
            }));
            const told seen = post.next();
            if (seen.event == event)
                return seen;
        }
    }

    const std::string to_any_owner = "to whoever has it";
    test_socket router_;
    std::string address_;
};

TEST_P(RefusedId, is_taken_when_its_owner_has_gone)
{
    test_socket first = owner();
    test_socket second = unconnected();
    listening_post post(context_, second, ZMQ_EVENT_DISCONNECTED);
    second.connect(address_);
    for (int tries = 0; tries < 3; ++tries)
        wait_for(post, ZMQ_EVENT_DISCONNECTED);
    expect_owner(first);
    hear(first, "still here");
    EXPECT_FALSE(second.readable(1ms));
    first.close();
    expect_to_be_taken_in(second);
}

TEST_P(RefusedId, is_told_on_both_sides)
{
    test_socket first = owner();
    listening_post bound(context_, router_);
    test_socket second = unconnected(60'000);
    listening_post connected(context_, second);
    second.connect(address_);
    wait_for(bound, ZMQ_EVENT_ACCEPTED);
    bound.expect(ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(std::uint64_t{EADDRINUSE},
              wait_for(bound, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
    bound.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(bound.quiet());
    wait_for(connected, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    connected.expect(ZMQ_EVENT_DISCONNECTED);
    EXPECT_LE(60'000u, connected.expect(ZMQ_EVENT_CONNECT_RETRIED).values.at(0));
    EXPECT_TRUE(connected.quiet());
}

TEST_P(RefusedId, is_tried_again_at_the_reconnect_interval)
{
    test_socket first = owner();
    test_socket second = unconnected(30);
    listening_post post(context_, second, ZMQ_EVENT_DISCONNECTED);
    second.connect(address_);
    wait_for(post, ZMQ_EVENT_DISCONNECTED);
    const stopwatch watch;
    for (int tries = 0; tries < 4; ++tries)
        wait_for(post, ZMQ_EVENT_DISCONNECTED);
    EXPECT_LE(3 * 30, watch.elapsed_ms());
}

// What was not handed to a connection that is refused waits for the next one.
TEST_P(RefusedId, leaves_to_the_next_try_what_is_sent_between_two)
{
    bool undisturbed = false;
    for (int interval_ms = 200; !undisturbed; interval_ms *= 2) {
        ASSERT_GT(10'000, interval_ms);
        begin();
        test_socket first = owner();
        test_socket second = unconnected(interval_ms);
        listening_post post(context_, second, ZMQ_EVENT_DISCONNECTED);
        second.connect(address_);
        wait_for(post, ZMQ_EVENT_DISCONNECTED);
        for (int index = 0; index < 100; ++index)
            second.send(std::to_string(index));
        first.close();
        ASSERT_TRUE(wait_until([&] { return is_free() || second.readable(0ms); }));
        // Refused once more before the router knew that the id is free? Then they are lost.
        undisturbed = router_.readable() && post.quiet();
        if (!undisturbed)
            continue;
        for (int index = 0; index < 100; ++index)
            ASSERT_EQ((parts{"same", std::to_string(index)}), router_.recv_parts());
    }
}

TEST_P(RefusedId, is_heard_by_nobody)
{
    test_socket first = owner();
    const raw_peer second = raw_dealer();
    second.send(zmtp::frame("not heard") + zmtp::frame("nor this"));
    ASSERT_TRUE(wait_until([&] {
        router_.events();
        return second.ended(1ms);
    }));
    EXPECT_FALSE(router_.readable(quiet_window));
    expect_owner(first);
}

// A network that has failed without a word leaves a connection that nobody uses any more.
TEST_P(RefusedId, is_taken_when_heartbeats_find_that_its_owner_is_dead)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_HEARTBEAT_IVL, 20);
    router.set(ZMQ_HEARTBEAT_TIMEOUT, 60);
    address_ = router.bind_and_resolve(fresh_bind_address(GetParam()));
    const raw_peer dead = raw_dealer();
    dead.send(zmtp::frame("last words"));
    EXPECT_EQ((parts{"same", "last words"}), router.recv_parts());
    test_socket again = dealer();
    ASSERT_TRUE(wait_until([&] {
        again.try_send("hello");
        return router.readable(5ms);
    }));
    EXPECT_EQ((parts{"same", "hello"}), router.recv_parts());
    router.send_parts({"same", "answer"});
    EXPECT_EQ("answer", again.recv());
}

TEST_P(RefusedId, keeps_nobody_from_closing)
{
    test_context context;
    test_socket router = test_socket::with_defaults(context, ZMQ_ROUTER);
    router.set(ZMQ_LINGER, -1);
    router.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
    address_ = router.bind_and_resolve(fresh_bind_address(GetParam()));
    raw_peer first = raw_dealer();
    first.send(zmtp::frame("first"));
    EXPECT_EQ((parts{"same", "first"}), router.recv_parts());
    std::vector<raw_peer> others;
    for (int index = 0; index < 10; ++index)
        others.push_back(raw_dealer());
    ASSERT_TRUE(wait_until([&] {
        router.events();
        return others.front().ended(1ms);
    }));
    router.close();
    context.term();
    for (const raw_peer& other : others)
        EXPECT_TRUE(other.ended());
}

TEST_P(RefusedId, becomes_free_for_one_of_many)
{
    test_socket first = owner();
    std::vector<test_socket> others;
    for (int index = 0; index < 5; ++index)
        others.push_back(dealer());
    hear(first, "still here");
    first.close();
    for (std::size_t left = others.size(); left > 0; --left) {
        std::size_t winner = others.size();
        ASSERT_TRUE(wait_until([&] {
            if (is_free())
                return false;
            for (std::size_t index = 0; index < others.size(); ++index)
                if (others[index] && others[index].readable(1ms))
                    winner = index;
            return winner < others.size();
        }));
        others[winner].close();
    }
}

ZLINK_LINKS_WITH(RefusedId, has_plain_zmtp);

class NoticedRefusal : public RefusedId {
protected:
    NoticedRefusal()
        : RefusedId([](test_socket& router) {
              router.set(ZMQ_ROUTER_NOTIFY, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT);
              router.set(ZMQ_DISCONNECT_MSG, "gone");
              router.set(ZMQ_PROBE_ROUTER, 1);
          })
    {}
};

TEST_P(NoticedRefusal, is_the_application_s_business_of_neither_side)
{
    test_socket first = dealer();
    EXPECT_EQ((parts{"same", ""}), router_.recv_parts());
    EXPECT_EQ("", first.recv());
    const raw_peer second = raw_dealer();
    ASSERT_TRUE(wait_until([&] {
        router_.events();
        return second.ended(1ms);
    }));
    EXPECT_FALSE(router_.readable(quiet_window));
    test_socket third = dealer();
    first.close();
    // The third may be there before the last words of the first are read.
    parts notices;
    for (int index = 0; index < 3; ++index) {
        const parts message = router_.recv_parts();
        ASSERT_EQ(2U, message.size());
        EXPECT_EQ("same", message[0]);
        notices.push_back(message[1]);
    }
    std::ranges::sort(notices);
    EXPECT_EQ((parts{"", "", "gone"}), notices);
    EXPECT_EQ("", third.recv());
    expect_owner(third);
}

ZLINK_LINKS_WITH(NoticedRefusal, has_plain_zmtp);

/// The router makes the connection that it refuses.
class RefusedCall : public RefusedId {
protected:
    test_socket called()
    {
        test_socket socket(context_, ZMQ_DEALER);
        socket.set(ZMQ_ROUTING_ID, "same");
        called_ = socket.bind_and_resolve(fresh_bind_address(GetParam()));
        return socket;
    }

    std::string called_;
};

TEST_P(RefusedCall, is_made_again)
{
    for (const int immediate : {0, 1}) {
        begin([&](test_socket& router) { router.set(ZMQ_IMMEDIATE, immediate); });
        test_socket first = owner();
        test_socket second = called();
        listening_post caller(context_, router_);
        listening_post post(context_, second, ZMQ_EVENT_DISCONNECTED);
        router_.connect(called_);
        EXPECT_EQ(std::uint64_t{EADDRINUSE},
                  wait_for(caller, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL).values.at(0));
        caller.expect(ZMQ_EVENT_DISCONNECTED);
        EXPECT_LE(5u, caller.expect(ZMQ_EVENT_CONNECT_RETRIED).values.at(0));
        for (int tries = 0; tries < 3; ++tries) {
            second.try_send("not heard");
            wait_for(post, ZMQ_EVENT_DISCONNECTED);
        }
        EXPECT_FALSE(router_.readable(quiet_window));
        expect_owner(first);
        EXPECT_EQ(0, zmq_socket_monitor(router_, nullptr, 0));
        first.close();
        ASSERT_TRUE(wait_until([&] { return !is_free() && second.readable(1ms); }));
        while (second.readable(quiet_window))
            second.recv();
        while (router_.readable(quiet_window)) // sent to a connection that was not refused
            router_.recv_parts();
        for (int index = 0; index < 100; ++index)
            second.send(std::to_string(index));
        for (int index = 0; index < 100; ++index)
            ASSERT_EQ((parts{"same", std::to_string(index)}), router_.recv_parts());
        expect_owner(second);
        router_.disconnect(called_);
        ASSERT_TRUE(wait_until([&] { return is_free(); }));
    }
}

TEST_P(RefusedCall, ends_with_zmq_disconnect)
{
    for (const int immediate : {0, 1}) {
        begin([&](test_socket& router) { router.set(ZMQ_IMMEDIATE, immediate); });
        test_socket first = owner();
        test_socket second = called();
        listening_post post(context_, second, ZMQ_EVENT_DISCONNECTED);
        router_.connect(called_);
        wait_for(post, ZMQ_EVENT_DISCONNECTED);
        router_.disconnect(called_);
        EXPECT_TRUE(fails_with(ENOENT, zmq_disconnect(router_, called_.c_str())));
        expect_owner(first);
        first.close();
        ASSERT_TRUE(wait_until([&] { return is_free(); }));
        EXPECT_TRUE(is_free());
        EXPECT_FALSE(second.readable(quiet_window));
    }
}

TEST_P(RefusedCall, is_greeted_by_a_probe_when_it_is_taken_in)
{
    router_.set(ZMQ_PROBE_ROUTER, 1);
    test_socket first = owner();
    EXPECT_EQ("", first.recv());
    test_socket second = called();
    listening_post post(context_, second, ZMQ_EVENT_DISCONNECTED);
    router_.connect(called_);
    for (int tries = 0; tries < 2; ++tries)
        wait_for(post, ZMQ_EVENT_DISCONNECTED);
    while (second.readable(1ms)) // the probe that was on its way before the first refusal
        second.recv();
    first.close();
    parts received;
    ASSERT_TRUE(wait_until([&] {
        is_free();
        if (second.readable(1ms))
            received.push_back(second.recv());
        return !received.empty() && !received.back().empty();
    }));
    EXPECT_EQ((parts{"", to_any_owner}), received);
}

ZLINK_WIRE_TRANSPORTS(RefusedCall);

// There is no connection to end: the newcomer waits.
class WaitsForId : public ::testing::Test {
protected:
    test_socket dealer()
    {
        test_socket socket(context_, ZMQ_DEALER);
        socket.set(ZMQ_ROUTING_ID, "same");
        socket.connect("inproc://router");
        return socket;
    }
    void bind() { router_.bind("inproc://router"); }

    test_context context_;
    test_socket router_{context_, ZMQ_ROUTER};
};

TEST_F(WaitsForId, over_inproc_and_loses_nothing)
{
    bind();
    std::vector<test_socket> dealers;
    for (int index = 0; index < 4; ++index)
        dealers.push_back(dealer());
    dealers[0].send("x");
    EXPECT_EQ((parts{"same", "x"}), router_.recv_parts());
    for (int index = 0; index < 100; ++index)
        for (std::size_t each = 1; each < dealers.size(); ++each)
            dealers[each].send(std::to_string(each) + ":" + std::to_string(index));
    EXPECT_FALSE(router_.readable(quiet_window));
    dealers[2].close(); // gives up
    for (const std::size_t each : {0, 1, 3}) {
        router_.send_parts({"same", "yours"});
        EXPECT_EQ("yours", dealers[each].recv());
        for (int index = 0; each != 0 && index < 100; ++index)
            ASSERT_EQ((parts{"same", std::to_string(each) + ":" + std::to_string(index)}),
                      router_.recv_parts());
        EXPECT_FALSE(router_.readable(quiet_window));
        dealers[each].close();
    }
    router_.set(ZMQ_ROUTER_MANDATORY, 1);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(router_, "same", 4, ZMQ_SNDMORE)));
}

TEST_F(WaitsForId, over_inproc_also_if_it_was_connected_before_it_was_bound)
{
    test_socket first = dealer();
    test_socket second = dealer();
    first.send("from the first");
    second.send("from the second");
    bind();
    EXPECT_EQ((parts{"same", "from the first"}), router_.recv_parts());
    EXPECT_FALSE(router_.readable(quiet_window));
    first.close();
    EXPECT_EQ((parts{"same", "from the second"}), router_.recv_parts());
}

TEST_F(WaitsForId, over_inproc_if_the_router_disconnects_the_owner)
{
    bind();
    test_socket called(context_, ZMQ_DEALER);
    called.bind("inproc://called");
    router_.set(ZMQ_CONNECT_ROUTING_ID, "same");
    router_.connect("inproc://called");
    test_socket second = dealer();
    second.send("from the second");
    EXPECT_FALSE(router_.readable(quiet_window));
    router_.disconnect("inproc://called");
    EXPECT_EQ((parts{"same", "from the second"}), router_.recv_parts());
    router_.send_parts({"same", "yours"});
    EXPECT_EQ("yours", second.recv());
}

} // namespace
} // namespace zlink::test
