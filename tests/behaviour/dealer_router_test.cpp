// SPDX-License-Identifier: Apache-2.0
// DEALER and ROUTER: routing ids, unknown and full peers, duplicates, probes.
#include "support/fixture.hpp"
#include "support/zmtp.hpp"

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

configuration with_id(const std::string& id)
{
    return [id](test_socket& socket) { socket.set(ZMQ_ROUTING_ID, id); };
}

class DealerRouter : public transport_test {
protected:
    /// Does not come back once its connection has ended.
    test_socket named_dealer(const std::string& address, const std::string& id)
    {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, id);
        dealer.set(ZMQ_RECONNECT_IVL, -1);
        dealer.connect(address);
        return dealer;
    }
};

TEST_P(DealerRouter, a_dealer_sends_in_turn_and_receives_from_all)
{
    test_socket dealer(context_, ZMQ_DEALER);
    std::vector<test_socket> peers;
    for (int index = 0; index < 3; ++index) {
        peers.emplace_back(context_, ZMQ_DEALER);
        dealer.connect(peers.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    for (int index = 0; index < 6; ++index)
        dealer.send(std::to_string(index));
    for (int index = 0; index < 6; ++index) {
        EXPECT_EQ(std::to_string(index), peers[index % 3].recv());
        peers[index % 3].send("reply");
    }
    for (int index = 0; index < 6; ++index)
        EXPECT_EQ("reply", dealer.recv());
}

TEST_P(DealerRouter, the_announced_id_is_the_first_part)
{
    auto [router, dealer, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, {}, with_id("alice"));
    dealer.send_parts({"hello", "", "world"});
    EXPECT_EQ((parts{"alice", "hello", "", "world"}), router.recv_parts());
    router.send_parts({"alice", "and", "back"});
    EXPECT_EQ((parts{"and", "back"}), dealer.recv_parts());
}

TEST_P(DealerRouter, ids_may_have_255_arbitrary_bytes)
{
    std::string id;
    for (int value = 255; value > 0; --value)
        id.push_back(static_cast<char>(value));
    auto [router, dealer, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, {}, with_id(id));
    dealer.send("x");
    EXPECT_EQ((parts{id, "x"}), router.recv_parts());
    router.send_parts({id, "y"});
    EXPECT_EQ("y", dealer.recv());
}

TEST_P(DealerRouter, ids_may_begin_with_a_zero_byte)
{
    for (const std::string& id : {std::string("\0", 1), std::string("\0abcd", 5)}) {
        test_socket router(context_, ZMQ_ROUTER);
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, id);
        dealer.connect(router.bind_and_resolve(fresh_bind_address(GetParam())));
        dealer.send("x");
        EXPECT_EQ((parts{id, "x"}), router.recv_parts());
        router.send_parts({id, "y"});
        EXPECT_EQ("y", dealer.recv());
    }
}

TEST_P(DealerRouter, automatic_ids_are_five_bytes_and_differ)
{
    test_socket router(context_, ZMQ_ROUTER);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<std::string> ids;
    std::vector<test_socket> dealers;
    for (int index = 0; index < 5; ++index) {
        dealers.emplace_back(context_, ZMQ_DEALER);
        dealers.back().connect(address);
        dealers.back().send("x");
        ids.push_back(router.recv_parts().front());
        EXPECT_EQ(5u, ids.back().size());
        EXPECT_EQ('\0', ids.back()[0]);
    }
    for (int index = 4; index >= 0; --index)
        router.send_parts({ids[index], std::to_string(index)});
    for (int index = 0; index < 5; ++index)
        EXPECT_EQ(std::to_string(index), dealers[index].recv());
}

TEST_P(DealerRouter, automatic_ids_count_up_from_anywhere)
{
    const auto number_in = [](const std::string& id) {
        std::uint32_t number = 0;
        for (const char byte : id.substr(1))
            number = number << 8 | static_cast<unsigned char>(byte);
        return number;
    };
    std::vector<std::uint32_t> first_numbers;
    for (int instance = 0; instance < 2; ++instance) {
        test_socket router(context_, ZMQ_ROUTER);
        const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
        std::vector<test_socket> dealers;
        for (std::uint32_t index = 0; index < 5; ++index) {
            dealers.emplace_back(context_, ZMQ_DEALER);
            dealers.back().connect(address);
            dealers.back().send("x");
            const std::uint32_t number = number_in(router.recv_parts().front());
            if (index == 0)
                first_numbers.push_back(number);
            EXPECT_EQ(first_numbers.back() + index, number);
        }
    }
    EXPECT_NE(first_numbers[0], first_numbers[1]);
}

TEST_P(DealerRouter, a_message_to_an_unknown_peer_is_dropped)
{
    auto [router, dealer, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, {}, with_id("known"));
    dealer.send("x");
    router.recv_parts();
    router.send_parts({"unknown", "lost", "parts"});
    router.send_parts({"known", "arrives"});
    EXPECT_EQ(parts{"arrives"}, dealer.recv_parts());
}

TEST_P(DealerRouter, a_mandatory_router_reports_an_unknown_peer)
{
    auto [router, dealer, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, {}, with_id("known"));
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    dealer.send("x");
    router.recv_parts();
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(router, "unknown", 7, ZMQ_SNDMORE)));
    router.send_parts({"known", "arrives"});
    EXPECT_EQ("arrives", dealer.recv());
}

TEST_P(DealerRouter, a_message_that_is_only_an_id_is_ignored)
{
    auto [router, dealer, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, {}, with_id("known"));
    dealer.send("x");
    router.recv_parts();
    EXPECT_EQ(5, zmq_send(router, "known", 5, 0));
    EXPECT_EQ(7, zmq_send(router, "unknown", 7, 0));
    router.send_parts({"known", "arrives"});
    EXPECT_EQ("arrives", dealer.recv());
}

TEST_P(DealerRouter, a_second_peer_with_the_same_id_is_not_heard)
{
    test_socket router(context_, ZMQ_ROUTER);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket first = named_dealer(address, "same");
    first.send("first");
    EXPECT_EQ((parts{"same", "first"}), router.recv_parts());
    test_socket second = named_dealer(address, "same");
    second.send("second");
    EXPECT_FALSE(router.readable(quiet_window));
    router.send_parts({"same", "still yours"});
    EXPECT_EQ("still yours", first.recv());
    EXPECT_FALSE(second.readable(1ms));
}

TEST_P(DealerRouter, a_second_peer_takes_the_id_over_if_allowed)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_HANDOVER, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket first = named_dealer(address, "same");
    first.send("first");
    EXPECT_EQ((parts{"same", "first"}), router.recv_parts());
    test_socket second = named_dealer(address, "same");
    second.send("second");
    EXPECT_EQ((parts{"same", "second"}), router.recv_parts());
    router.send_parts({"same", "yours now"});
    EXPECT_EQ("yours now", second.recv());
    EXPECT_FALSE(first.readable(1ms));
}

TEST_P(DealerRouter, an_id_is_free_when_its_owner_has_left)
{
    test_socket router(context_, ZMQ_ROUTER);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    for (int round = 0; round < 5; ++round) {
        // The router notices the end of the last owner in its own time; until then a newcomer is
        // turned away.
        ASSERT_TRUE(wait_until([&] {
            test_socket dealer = named_dealer(address, "same");
            dealer.send("mine?");
            if (!router.readable(50ms))
                return false;
            EXPECT_EQ((parts{"same", "mine?"}), router.recv_parts());
            router.send_parts({"same", "yours"});
            EXPECT_EQ("yours", dealer.recv());
            return true;
        })) << round;
    }
}

TEST_P(DealerRouter, a_probe_announces_the_peer_with_an_empty_message)
{
    auto [router, dealer, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER, {}, [](test_socket& socket) {
            socket.set(ZMQ_ROUTING_ID, "prober");
            socket.set(ZMQ_PROBE_ROUTER, 1);
        });
    EXPECT_EQ((parts{"prober", ""}), router.recv_parts());
    router.send_parts({"prober", "seen"});
    EXPECT_EQ("seen", dealer.recv());
}

TEST_P(DealerRouter, routers_find_each_other_by_a_probe)
{
    test_socket left(context_, ZMQ_ROUTER);
    test_socket right(context_, ZMQ_ROUTER);
    left.set(ZMQ_ROUTING_ID, "left");
    right.set(ZMQ_ROUTING_ID, "right");
    right.set(ZMQ_PROBE_ROUTER, 1);
    right.connect(left.bind_and_resolve(fresh_bind_address(GetParam())));
    EXPECT_EQ((parts{"right", ""}), left.recv_parts());
    left.send_parts({"right", "hello"});
    EXPECT_EQ((parts{"left", "hello"}), right.recv_parts());
}

TEST_P(DealerRouter, a_connection_can_be_named_by_the_connecting_router)
{
    test_socket left(context_, ZMQ_ROUTER);
    test_socket right(context_, ZMQ_ROUTER);
    left.set(ZMQ_ROUTING_ID, "announced");
    right.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    right.set(ZMQ_ROUTER_MANDATORY, 1);
    right.set(ZMQ_ROUTING_ID, "right");
    right.connect(left.bind_and_resolve(fresh_bind_address(GetParam())));
    right.send_parts({"chosen", "hello"});
    EXPECT_EQ((parts{"right", "hello"}), left.recv_parts());
    left.send_parts({"right", "reply"});
    EXPECT_EQ((parts{"chosen", "reply"}), right.recv_parts());
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(right, "announced", 9, ZMQ_SNDMORE)));
}

TEST_P(DealerRouter, a_full_peer_loses_messages_without_stopping_the_router)
{
    auto [router, dealer, address] = link(
        context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER,
        [](test_socket& socket) { socket.set(ZMQ_SNDHWM, 2); },
        [](test_socket& socket) {
            socket.set(ZMQ_RCVHWM, 2);
            socket.set(ZMQ_ROUTING_ID, "slow");
        });
    dealer.send("x");
    router.recv_parts();
    const std::string body(50'000, 'r');
    constexpr int sent = 1000;
    for (int index = 0; index < sent; ++index)
        router.send_parts({"slow", std::to_string(index), body});
    int received = 0;
    int last = -1;
    while (const auto message = dealer.try_recv_parts()) {
        ASSERT_EQ(2u, message->size());
        EXPECT_EQ(body, message->back());
        EXPECT_LT(last, std::stoi(message->front()));
        last = std::stoi(message->front());
        ++received;
    }
    EXPECT_LT(0, received);
    EXPECT_GT(sent, received);
}

TEST_P(DealerRouter, a_mandatory_router_waits_for_a_full_peer)
{
    auto [router, dealer, address] = link(
        context_, GetParam(), ZMQ_ROUTER, ZMQ_DEALER,
        [](test_socket& socket) {
            socket.set(ZMQ_SNDHWM, 2);
            socket.set(ZMQ_ROUTER_MANDATORY, 1);
            socket.set(ZMQ_SNDTIMEO, 50);
        },
        [](test_socket& socket) {
            socket.set(ZMQ_RCVHWM, 2);
            socket.set(ZMQ_ROUTING_ID, "slow");
        });
    dealer.send("x");
    router.recv_parts();
    const std::string body(50'000, 'r');
    int accepted = 0;
    while (zmq_send(router, "slow", 4, ZMQ_SNDMORE) > 0) {
        router.send(body);
        ASSERT_GT(100'000, ++accepted);
    }
    EXPECT_EQ(EAGAIN, zmq_errno());
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(router, "slow", 4, ZMQ_SNDMORE | ZMQ_DONTWAIT)));
    EXPECT_EQ(0, router.events() & ZMQ_POLLOUT);
    for (int index = 0; index < accepted; ++index)
        EXPECT_EQ(body, dealer.recv());
    EXPECT_TRUE(router.writable());
}

TEST_P(DealerRouter, reads_from_all_peers)
{
    constexpr int peers = 10;
    constexpr int each = 20;
    test_socket router(context_, ZMQ_ROUTER);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> dealers;
    for (int index = 0; index < peers; ++index) {
        dealers.push_back(named_dealer(address, std::string(1, static_cast<char>('a' + index))));
        for (int number = 0; number < each; ++number)
            dealers.back().send_parts({std::to_string(number), "tail"});
    }
    std::vector<int> next(peers, 0);
    for (int index = 0; index < peers * each; ++index) {
        const parts message = router.recv_parts();
        ASSERT_EQ(3u, message.size());
        EXPECT_EQ(std::to_string(next[message[0][0] - 'a']++), message[1]);
    }
    EXPECT_EQ(std::vector<int>(peers, each), next);
}

class ZlinkOnlyDealerRouter : public DealerRouter {};

TEST_P(DealerRouter, a_message_that_was_begun_is_read_to_its_end_when_the_id_is_taken_over)
{
    for (const std::size_t already_read : {1, 2, 3}) {
        test_socket router(context_, ZMQ_ROUTER);
        router.set(ZMQ_ROUTER_HANDOVER, 1);
        const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
        test_socket first = named_dealer(address, "same");
        first.send_parts({"a", "b", "c"});
        parts message;
        while (message.size() < already_read)
            message.push_back(router.recv());
        test_socket second = named_dealer(address, "same");
        second.send("second");
        ASSERT_TRUE(wait_until([&] {
            router.send_parts({"same", "yours now"});
            return second.readable(1ms);
        }));
        for (const std::string& part : router.recv_parts())
            message.push_back(part);
        EXPECT_EQ((parts{"same", "a", "b", "c"}), message);
        EXPECT_EQ((parts{"same", "second"}), router.recv_parts());
    }
}

TEST_P(DealerRouter, a_message_that_is_being_sent_is_dropped_when_the_id_is_taken_over)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_HANDOVER, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket first = named_dealer(address, "same");
    first.send("first");
    EXPECT_EQ((parts{"same", "first"}), router.recv_parts());
    router.send("same", ZMQ_SNDMORE);
    router.send("begun", ZMQ_SNDMORE);
    test_socket second = named_dealer(address, "same");
    second.send("second");
    EXPECT_EQ((parts{"same", "second"}), router.recv_parts());
    router.send("the rest");
    router.send_parts({"same", "whole"});
    EXPECT_EQ(parts{"whole"}, second.recv_parts());
    EXPECT_FALSE(first.readable(quiet_window));
}

TEST_P(ZlinkOnlyDealerRouter, nothing_that_had_arrived_is_lost_when_the_id_is_taken_over)
{
    // All that waits for the first connection is written at once: with the first message of it the
    // others have arrived.
    const std::string address = known_address(GetParam());
    test_socket first(context_, ZMQ_DEALER);
    first.set(ZMQ_ROUTING_ID, "same");
    first.connect(address);
    for (int index = 0; index < 100; ++index)
        first.send(std::to_string(index));
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_HANDOVER, 1);
    router.bind(address);
    EXPECT_EQ((parts{"same", "0"}), router.recv_parts());
    test_socket other = named_dealer(address, "other");
    other.send("mark");
    test_socket second = named_dealer(address, "same");
    second.send("second");
    int next = 1;
    bool taken_over = false;
    bool marked = false;
    while (next < 100 || !taken_over || !marked) {
        const parts message = router.recv_parts();
        ASSERT_EQ(2u, message.size());
        if (message[1] == "second")
            taken_over = true;
        else if (message[1] == "mark")
            marked = true;
        else
            ASSERT_EQ((parts{"same", std::to_string(next++)}), message);
    }
}

TEST_P(DealerRouter, a_peer_that_left_unread_messages_cannot_be_sent_to)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket dealer = named_dealer(address, "d");
    dealer.set(ZMQ_LINGER, -1);
    dealer.send("one");
    EXPECT_EQ((parts{"d", "one"}), router.recv_parts());
    dealer.send("two");
    dealer.close();
    ASSERT_TRUE(wait_until([&] {
        router.events();
        return zmq_send(router, "d", 1, ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1 ||
               zmq_send(router, "", 0, 0) == -1;
    }));
    EXPECT_EQ(EHOSTUNREACH, zmq_errno());
    EXPECT_EQ((parts{"d", "two"}), router.recv_parts());
}

TEST_P(DealerRouter, a_third_and_a_fourth_peer_may_take_the_id_over)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_HANDOVER, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> peers;
    for (int index = 0; index < 4; ++index) {
        peers.push_back(named_dealer(address, "same"));
        peers.back().send(std::to_string(index));
        EXPECT_EQ((parts{"same", std::to_string(index)}), router.recv_parts());
        router.send_parts({"same", "to " + std::to_string(index)});
        EXPECT_EQ("to " + std::to_string(index), peers.back().recv());
    }
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyDealerRouter);

class ReconnectedRouter : public transport_test {};

TEST_P(ReconnectedRouter, keeps_the_name_of_a_connection_whoever_answers)
{
    const std::string address = known_address(GetParam());
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_RECONNECT_IVL, 5);
    router.connect(address);
    for (const char* const announced : {"first", "second"}) {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_ROUTING_ID, announced);
        dealer.bind(address);
        dealer.send("x");
        EXPECT_EQ((parts{"first", "x"}), router.recv_parts());
        router.send_parts({"first", "y"});
        EXPECT_EQ("y", dealer.recv());
    }
}

ZLINK_WIRE_TRANSPORTS(ReconnectedRouter);

// The peer that leaves stands before the one whose id was read in the order of turns.
TEST(RouterTurns, a_message_keeps_its_id_when_another_peer_leaves_after_the_id_was_read)
{
    test_context context;
    test_socket router(context, ZMQ_ROUTER);
    const std::string address = router.bind_and_resolve(fresh_bind_address(transport::inproc));
    std::vector<test_socket> dealers;
    for (const char* id : {"first", "second", "third"}) {
        dealers.emplace_back(context, ZMQ_DEALER);
        dealers.back().set(ZMQ_ROUTING_ID, id);
        dealers.back().connect(address);
        dealers.back().send(std::string("from the ") + id);
    }
    dealers[0].send("from the first again");
    EXPECT_EQ((parts{"first", "from the first"}), router.recv_parts());
    EXPECT_EQ((parts{"second", "from the second"}), router.recv_parts());
    EXPECT_EQ("third", router.recv());
    dealers[1].close();
    EXPECT_EQ("from the third", router.recv());
    EXPECT_EQ((parts{"first", "from the first again"}), router.recv_parts());
}

TEST(RouterEvents, are_always_writable_unless_mandatory)
{
    test_context context;
    test_socket router(context, ZMQ_ROUTER);
    EXPECT_NE(0, router.events() & ZMQ_POLLOUT);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    EXPECT_EQ(0, router.events() & ZMQ_POLLOUT);
}

TEST(ZlinkOnlyRouter, refuses_to_connect_under_an_id_that_is_taken)
{
    test_context context;
    test_socket left(context, ZMQ_ROUTER);
    test_socket right(context, ZMQ_ROUTER);
    const std::string address = left.bind_and_resolve("tcp://127.0.0.1:*");
    right.set(ZMQ_CONNECT_ROUTING_ID, "taken");
    right.connect(address);
    right.set(ZMQ_CONNECT_ROUTING_ID, "taken");
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(right, address.c_str())));
}

class TakenId : public ::testing::Test {
protected:
    raw_peer dealer() const
    {
        raw_peer peer(address_);
        zmtp::shake_hands(peer, "DEALER", 1, zmtp::property("Identity", "same"));
        return peer;
    }

    test_context context_;
    test_socket router_{context_, ZMQ_ROUTER};
    std::string address_ = router_.bind_and_resolve("tcp://127.0.0.1:*");
};

TEST_F(TakenId, ends_the_connection_of_the_newcomer_unheard)
{
    const raw_peer first = dealer();
    first.send(zmtp::frame("first"));
    EXPECT_EQ((parts{"same", "first"}), router_.recv_parts());
    const raw_peer second = dealer();
    second.send(zmtp::frame("second"));
    EXPECT_FALSE(router_.readable(quiet_window));
    router_.send_parts({"same", "still yours"});
    EXPECT_EQ(zmtp::frame("still yours"), zmtp::recv_frame(first));
    EXPECT_EQ("", second.recv_to_end());
}

TEST_F(TakenId, leaves_the_older_connection_open_but_unheard)
{
    router_.set(ZMQ_ROUTER_HANDOVER, 1);
    const raw_peer first = dealer();
    first.send(zmtp::frame("first"));
    EXPECT_EQ((parts{"same", "first"}), router_.recv_parts());
    const raw_peer second = dealer();
    second.send(zmtp::frame("second"));
    EXPECT_EQ((parts{"same", "second"}), router_.recv_parts());
    first.send(zmtp::frame("not heard"));
    EXPECT_FALSE(router_.readable(quiet_window));
    EXPECT_FALSE(first.ended(1ms));
    router_.send_parts({"same", "yours"});
    EXPECT_EQ(zmtp::frame("yours"), zmtp::recv_frame(second));
    EXPECT_EQ("", first.recv_at_most(1, 1ms));
}

TEST_F(TakenId, can_be_taken_again_and_again)
{
    router_.set(ZMQ_ROUTER_HANDOVER, 1);
    std::vector<raw_peer> peers;
    for (int index = 0; index < 5; ++index) {
        peers.push_back(dealer());
        peers.back().send(zmtp::frame("from " + std::to_string(index)));
        EXPECT_EQ((parts{"same", "from " + std::to_string(index)}), router_.recv_parts());
    }
    peers.front().close(); // is not the end of the name
    router_.send_parts({"same", "yours"});
    EXPECT_EQ(zmtp::frame("yours"), zmtp::recv_frame(peers.back()));
    for (std::size_t index = 1; index + 1 < peers.size(); ++index)
        EXPECT_FALSE(peers[index].ended(1ms));
}

// Two that live would take it from each other without end if the older one were made to connect
// again.
TEST_P(DealerRouter, an_id_that_was_taken_over_stays_with_the_newcomer)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_HANDOVER, 1);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    const std::string address = router.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket first(context_, ZMQ_DEALER);
    test_socket second(context_, ZMQ_DEALER);
    for (test_socket* const peer : {&first, &second}) {
        peer->set(ZMQ_ROUTING_ID, "same");
        peer->set(ZMQ_RECONNECT_IVL, 1);
        peer->connect(address);
        peer->send("hello");
        EXPECT_EQ((parts{"same", "hello"}), router.recv_parts());
    }
    const auto end = std::chrono::steady_clock::now() + 200ms;
    for (int index = 0; std::chrono::steady_clock::now() < end; ++index) {
        second.send(std::to_string(index));
        ASSERT_EQ((parts{"same", std::to_string(index)}), router.recv_parts());
        router.send_parts({"same", std::to_string(index)});
        ASSERT_EQ(std::to_string(index), second.recv());
    }
    EXPECT_FALSE(first.readable(1ms));
}

ZLINK_ALL_TRANSPORTS(DealerRouter);

class RouterAtRunTime : public DealerRouter {
protected:
    test_socket dealer(const std::string& id) { return named_dealer(address_, id); }

    test_socket router_{context_, ZMQ_ROUTER};
    std::string address_ = router_.bind_and_resolve(fresh_bind_address(GetParam()));
};

TEST_P(RouterAtRunTime, lets_the_next_peer_take_an_id_over)
{
    test_socket first = dealer("same");
    first.send("first");
    EXPECT_EQ((parts{"same", "first"}), router_.recv_parts());
    test_socket ignored = dealer("same");
    ignored.send("ignored");
    EXPECT_FALSE(router_.readable(quiet_window));
    router_.set(ZMQ_ROUTER_HANDOVER, 1);
    test_socket second = dealer("same");
    second.send("second");
    EXPECT_EQ((parts{"same", "second"}), router_.recv_parts());
}

TEST_P(RouterAtRunTime, probes_the_peers_that_come_from_now_on)
{
    test_socket before = dealer("before");
    before.send("x");
    EXPECT_EQ((parts{"before", "x"}), router_.recv_parts());
    router_.set(ZMQ_PROBE_ROUTER, 1);
    test_socket after = dealer("after");
    ASSERT_TRUE(wait_until([&] { return router_.events() && after.readable(1ms); }));
    EXPECT_EQ(parts{""}, after.recv_parts());
    EXPECT_FALSE(before.readable(0ms));
}

TEST_P(RouterAtRunTime, names_the_next_connection_only)
{
    test_socket other(context_, ZMQ_ROUTER);
    for (test_socket* socket : {&router_, &other})
        socket->set(ZMQ_ROUTING_ID, "announced");
    const std::string second = other.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket first(context_, ZMQ_ROUTER);
    first.set(ZMQ_ROUTING_ID, "announced");
    const std::string address = first.bind_and_resolve(fresh_bind_address(GetParam()));
    test_socket caller(context_, ZMQ_ROUTER);
    caller.set(ZMQ_ROUTING_ID, "caller");
    caller.set(ZMQ_PROBE_ROUTER, 1);
    caller.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    EXPECT_NE(0, zmq_connect(caller, "nonsense")) << "does not count";
    caller.connect(address);
    caller.connect(second);
    for (test_socket* socket : {&first, &other}) {
        EXPECT_EQ((parts{"caller", ""}), socket->recv_parts());
        socket->send_parts({"caller", "hello"});
        EXPECT_EQ((parts{socket == &first ? "chosen" : "announced", "hello"}), caller.recv_parts());
    }
}

TEST_P(RouterAtRunTime, is_probed_by_bound_sockets_too)
{
    for (const int type : {ZMQ_DEALER, ZMQ_REQ, ZMQ_ROUTER}) {
        test_socket prober(context_, type);
        prober.set(ZMQ_ROUTING_ID, "prober");
        prober.set(ZMQ_PROBE_ROUTER, 1);
        const std::string address = prober.bind_and_resolve(fresh_bind_address(GetParam()));
        test_socket router(context_, ZMQ_ROUTER);
        router.connect(address);
        ASSERT_TRUE(wait_until([&] { return prober.events() >= 0 && router.readable(1ms); }));
        EXPECT_EQ((parts{"prober", ""}), router.recv_parts()) << type;
    }
}

TEST_P(RouterAtRunTime, is_probed_by_a_connecting_request_socket)
{
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_ROUTING_ID, "q");
    req.set(ZMQ_PROBE_ROUTER, 1);
    req.connect(address_);
    EXPECT_EQ((parts{"q", ""}), router_.recv_parts());
}

class ZlinkOnlyRouterAtRunTime : public RouterAtRunTime {};

TEST_P(ZlinkOnlyRouterAtRunTime, speaks_to_those_who_come_as_it_did_when_it_was_bound)
{
    router_.set(ZMQ_ROUTER_RAW, 1);
    test_socket peer = dealer("d");
    peer.send_parts({"a", "b"});
    EXPECT_EQ((parts{"d", "a", "b"}), router_.recv_parts());
    router_.set(ZMQ_ROUTER_RAW, 0);
    router_.send_parts({"d", "c", "e"});
    EXPECT_EQ((parts{"c", "e"}), peer.recv_parts());
}

ZLINK_ALL_TRANSPORTS(RouterAtRunTime);
ZLINK_ALL_TRANSPORTS(ZlinkOnlyRouterAtRunTime);

class NamedWithImmediate : public transport_test {};

TEST_P(NamedWithImmediate, belongs_to_the_next_connect_and_to_no_other)
{
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_RECONNECT_IVL, 5);
    router.set(ZMQ_IMMEDIATE, 1);
    router.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    router.connect(known_address(GetParam())); // where nobody is
    test_socket dealer(context_, ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "announced");
    router.connect(dealer.bind_and_resolve(fresh_bind_address(GetParam())));
    dealer.send("x");
    EXPECT_EQ((parts{"announced", "x"}), router.recv_parts());
}

ZLINK_WIRE_TRANSPORTS(NamedWithImmediate);

} // namespace
} // namespace zlink::test
