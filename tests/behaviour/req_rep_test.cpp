// SPDX-License-Identifier: Apache-2.0
// REQ and REP: strict turns, the envelope, and what relaxes the strictness.
#include "support/fixture.hpp"

#include <cstdint>
#include <cstring>

namespace zlink::test {
namespace {

using namespace std::chrono_literals;

class ReqRep : public transport_test {
protected:
    char byte_ = 0;
};

TEST_P(ReqRep, take_turns)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    for (int round = 0; round < 50; ++round) {
        req.send("question " + std::to_string(round));
        EXPECT_EQ("question " + std::to_string(round), rep.recv());
        rep.send("answer");
        EXPECT_EQ("answer", req.recv());
    }
}

TEST_P(ReqRep, carry_multipart_messages)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    const parts request{"a", "", std::string(10'000, 'b')};
    const parts reply{"", "c"};
    req.send_parts(request);
    EXPECT_EQ(request, rep.recv_parts());
    rep.send_parts(reply);
    EXPECT_EQ(reply, req.recv_parts());
}

TEST_P(ReqRep, refuse_calls_out_of_turn)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(req, &byte_, 1, 0)));
    EXPECT_TRUE(fails_with(EFSM, zmq_send(rep, "x", 1, 0)));
    req.send("part", ZMQ_SNDMORE);
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(req, &byte_, 1, 0)));
    req.send("last");
    EXPECT_TRUE(fails_with(EFSM, zmq_send(req, "x", 1, 0)));
    EXPECT_EQ("part", rep.recv());
    EXPECT_TRUE(fails_with(EFSM, zmq_send(rep, "x", 1, 0)));
    EXPECT_EQ("last", rep.recv());
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(rep, &byte_, 1, 0)));
    rep.send("reply", ZMQ_SNDMORE);
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(rep, &byte_, 1, 0)));
    rep.send("end");
    EXPECT_EQ("reply", req.recv());
    EXPECT_TRUE(fails_with(EFSM, zmq_send(req, "x", 1, 0)));
    EXPECT_EQ("end", req.recv());
    req.send("next");
    EXPECT_EQ("next", rep.recv());
}

TEST_P(ReqRep, show_their_turn_in_the_events)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    EXPECT_TRUE(req.writable());
    EXPECT_EQ(0, rep.events());
    req.send("x");
    EXPECT_EQ(0, req.events());
    EXPECT_TRUE(rep.readable());
    rep.recv();
    EXPECT_EQ(ZMQ_POLLOUT, rep.events());
    rep.send("y");
    EXPECT_TRUE(req.readable());
    EXPECT_EQ(ZMQ_POLLIN, req.events());
}

TEST_P(ReqRep, ask_several_servers_in_turn)
{
    test_socket req(context_, ZMQ_REQ);
    std::vector<test_socket> servers;
    for (int index = 0; index < 3; ++index) {
        servers.emplace_back(context_, ZMQ_REP);
        req.connect(servers.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    for (int round = 0; round < 6; ++round) {
        req.send(std::to_string(round));
        EXPECT_EQ(std::to_string(round), servers[round % 3].recv());
        servers[round % 3].send("ok");
        EXPECT_EQ("ok", req.recv());
    }
}

TEST_P(ReqRep, only_the_server_that_was_asked_may_answer)
{
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_ROUTING_ID, "q");
    std::vector<test_socket> servers;
    for (int index = 0; index < 2; ++index) {
        servers.emplace_back(context_, ZMQ_ROUTER);
        servers.back().set(ZMQ_ROUTER_MANDATORY, 1);
        req.connect(servers.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    req.send("question");
    EXPECT_EQ((parts{"q", "", "question"}), servers[0].recv_parts());
    ASSERT_TRUE(wait_until([&] { return zmq_send(servers[1], "q", 1, ZMQ_SNDMORE) == 1; }));
    servers[1].send_parts({"", "nobody asked you"});
    // Not by polling: libraries exist that only see when they receive that it is no answer.
    req.set(ZMQ_RCVTIMEO, static_cast<int>(quiet_window.count()));
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(req, nullptr, 0, 0)));
    req.set(ZMQ_RCVTIMEO, static_cast<int>(patience.count()));
    servers[0].send_parts({"q", "", "answer"});
    EXPECT_EQ("answer", req.recv());
}

TEST_P(ReqRep, answer_the_one_who_asked)
{
    test_socket rep(context_, ZMQ_REP);
    const std::string address = rep.bind_and_resolve(fresh_bind_address(GetParam()));
    std::vector<test_socket> clients;
    for (int index = 0; index < 5; ++index) {
        clients.emplace_back(context_, ZMQ_REQ);
        clients.back().connect(address);
        clients.back().send(std::to_string(index));
    }
    for (int index = 0; index < 5; ++index)
        rep.send("for " + rep.recv());
    for (int index = 0; index < 5; ++index)
        EXPECT_EQ("for " + std::to_string(index), clients[index].recv());
}

TEST_P(ReqRep, put_an_empty_delimiter_in_front_of_a_request)
{
    auto [router, req, address] = link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ);
    req.send_parts({"one", "two"});
    const parts request = router.recv_parts();
    ASSERT_EQ(4u, request.size());
    EXPECT_EQ("", request[1]);
    EXPECT_EQ("one", request[2]);
    router.send_parts({request[0], "", "reply"});
    EXPECT_EQ(parts{"reply"}, req.recv_parts());
}

TEST_P(ReqRep, return_the_whole_envelope)
{
    auto [rep, dealer, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_DEALER);
    dealer.send_parts({"hop 2", "hop 1", "", "body", "", "more"});
    EXPECT_EQ((parts{"body", "", "more"}), rep.recv_parts());
    rep.send("reply");
    EXPECT_EQ((parts{"hop 2", "hop 1", "", "reply"}), dealer.recv_parts());
}

TEST_P(ReqRep, ignore_a_request_without_delimiter)
{
    auto [rep, dealer, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_DEALER);
    dealer.send_parts({"no", "delimiter"});
    dealer.send_parts({"", "good"});
    EXPECT_EQ("good", rep.recv());
}

TEST_P(ReqRep, discard_a_reply_to_somebody_who_left)
{
    test_socket rep(context_, ZMQ_REP);
    const std::string address = rep.bind_and_resolve(fresh_bind_address(GetParam()));
    {
        test_socket dealer(context_, ZMQ_DEALER);
        dealer.set(ZMQ_LINGER, -1);
        dealer.connect(address);
        dealer.send_parts({"", "question"});
        EXPECT_EQ("question", rep.recv());
    }
    rep.send("to nobody");
    test_socket req(context_, ZMQ_REQ);
    req.connect(address);
    req.send("next");
    EXPECT_EQ("next", rep.recv());
    rep.send("to somebody");
    EXPECT_EQ("to somebody", req.recv());
}

TEST_P(ReqRep, drop_replies_that_find_no_room)
{
    auto [rep, dealer, address] = link(
        context_, GetParam(), ZMQ_REP, ZMQ_DEALER,
        [](test_socket& socket) { socket.set(ZMQ_SNDHWM, 1); },
        [](test_socket& socket) { socket.set(ZMQ_RCVHWM, 1); });
    const std::string big(200'000, 'x');
    for (int index = 0; index < 200; ++index) {
        dealer.send_parts({"", std::to_string(index)});
        EXPECT_EQ(std::to_string(index), rep.recv());
        rep.send_parts({std::to_string(index), big}); // never waits
    }
    int received = 0;
    while (const auto reply = dealer.try_recv_parts()) {
        ASSERT_EQ(3u, reply->size());
        EXPECT_EQ(big, (*reply)[2]);
        ++received;
    }
    EXPECT_LT(0, received);
    EXPECT_GT(200, received);
}

TEST_P(ReqRep, keep_their_turn_when_a_call_could_not_complete)
{
    test_socket req(context_, ZMQ_REQ);
    EXPECT_TRUE(fails_with(EAGAIN, zmq_send(req, "x", 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(EFSM, zmq_recv(req, &byte_, 1, ZMQ_DONTWAIT)));
    test_socket rep(context_, ZMQ_REP);
    req.connect(rep.bind_and_resolve(fresh_bind_address(GetParam())));
    req.send("x");
    EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(req, &byte_, 1, ZMQ_DONTWAIT)));
    EXPECT_TRUE(fails_with(EFSM, zmq_send(req, "x", 1, ZMQ_DONTWAIT)));
    rep.recv();
    rep.send("y");
    EXPECT_EQ("y", req.recv());
}

TEST_P(ReqRep, pass_through_a_chain_of_router_and_dealer)
{
    test_socket front(context_, ZMQ_ROUTER);
    test_socket back(context_, ZMQ_DEALER);
    test_socket req(context_, ZMQ_REQ);
    test_socket rep(context_, ZMQ_REP);
    req.connect(front.bind_and_resolve(fresh_bind_address(GetParam())));
    rep.connect(back.bind_and_resolve(fresh_bind_address(GetParam())));
    req.send_parts({"a", "b"});
    back.send_parts(front.recv_parts());
    EXPECT_EQ((parts{"a", "b"}), rep.recv_parts());
    rep.send("c");
    front.send_parts(back.recv_parts());
    EXPECT_EQ("c", req.recv());
}

TEST_P(ReqRep, relaxed_requests_may_be_repeated)
{
    auto [router, req, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {}, [](test_socket& socket) {
            socket.set(ZMQ_REQ_RELAXED, 1);
            socket.set(ZMQ_REQ_CORRELATE, 1);
            socket.set(ZMQ_RECONNECT_IVL, 5);
        });
    req.send("first");
    const parts first = router.recv_parts();
    ASSERT_EQ(4u, first.size());
    EXPECT_EQ(4u, first[1].size());
    req.send("second");
    const parts second = router.recv_parts();
    ASSERT_EQ(4u, second.size());
    EXPECT_NE(first[1], second[1]);
    router.send_parts({second[0], first[1], "", "old"});
    router.send_parts({second[0], second[1], "", "new"});
    EXPECT_EQ("new", req.recv());
}

TEST_P(ReqRep, a_relaxed_request_without_number_may_get_the_reply_to_the_one_before)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ, {},
                                    [](test_socket& socket) { socket.set(ZMQ_REQ_RELAXED, 1); });
    req.send("first");
    EXPECT_EQ("first", rep.recv());
    req.send("second");
    rep.send("reply to first");
    EXPECT_EQ("reply to first", req.recv());
}

TEST_P(ReqRep, a_reply_that_came_before_a_repeated_request_is_dropped)
{
    auto [router, req, address] = link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {},
                                       [](test_socket& socket) { socket.set(ZMQ_REQ_RELAXED, 1); });
    req.send("first");
    const parts first = router.recv_parts();
    router.send_parts({first[0], "", "early"});
    ASSERT_TRUE(req.readable());
    req.send("second");
    EXPECT_EQ((parts{first[0], "", "second"}), router.recv_parts());
    EXPECT_FALSE(req.readable(quiet_window));
    router.send_parts({first[0], "", "right"});
    EXPECT_EQ("right", req.recv());
}

TEST_P(ReqRep, a_relaxed_request_may_be_sent_in_the_middle_of_a_reply)
{
    auto [router, req, address] = link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {},
                                       [](test_socket& socket) { socket.set(ZMQ_REQ_RELAXED, 1); });
    req.send("first");
    const parts first = router.recv_parts();
    router.send_parts({first[0], "", "one", "two"});
    EXPECT_EQ("one", req.recv());
    req.send("second");
    EXPECT_EQ((parts{first[0], "", "second"}), router.recv_parts());
    router.send_parts({first[0], "", "right"});
    EXPECT_EQ(parts{"right"}, req.recv_parts());
}

TEST_P(ReqRep, show_a_relaxed_request_as_writable_while_it_waits)
{
    auto [rep, req, address] = link(context_, GetParam(), ZMQ_REP, ZMQ_REQ);
    req.send("first");
    EXPECT_EQ("first", rep.recv());
    EXPECT_EQ(0, req.events() & ZMQ_POLLOUT);
    req.set(ZMQ_REQ_RELAXED, 1);
    EXPECT_NE(0, req.events() & ZMQ_POLLOUT);
}

TEST_P(ReqRep, correlated_replies_must_carry_the_number_of_the_request)
{
    auto [router, req, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {},
             [](test_socket& socket) { socket.set(ZMQ_REQ_CORRELATE, 1); });
    req.send("question");
    const parts request = router.recv_parts();
    ASSERT_EQ(4u, request.size());
    std::string other = request[1];
    other[0] = static_cast<char>(other[0] ^ 0x55);
    router.send_parts({request[0], other, "", "wrong"});
    router.send_parts({request[0], request[1], "", "right"});
    EXPECT_EQ("right", req.recv());
}

TEST_P(ReqRep, numbers_begin_anywhere_and_count_up)
{
    std::vector<std::uint32_t> first_numbers;
    for (int client = 0; client < 2; ++client) {
        auto [router, req, address] =
            link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {},
                 [](test_socket& socket) { socket.set(ZMQ_REQ_CORRELATE, 1); });
        for (std::uint32_t round = 0; round < 3; ++round) {
            req.send("question");
            const parts request = router.recv_parts();
            ASSERT_EQ(4u, request.size());
            ASSERT_EQ(4u, request[1].size());
            std::uint32_t number = 0;
            std::memcpy(&number, request[1].data(), sizeof number);
            if (round == 0)
                first_numbers.push_back(number);
            EXPECT_EQ(first_numbers.back() + round, number);
            router.send_parts(request);
            EXPECT_EQ("question", req.recv());
        }
    }
    EXPECT_NE(first_numbers[0], first_numbers[1]);
}

TEST_P(ReqRep, an_asked_server_that_left_is_not_replaced)
{
    test_socket req(context_, ZMQ_REQ);
    const std::string address = req.bind_and_resolve(fresh_bind_address(GetParam()));
    {
        test_socket rep(context_, ZMQ_REP);
        rep.connect(address);
        req.send("question");
        EXPECT_EQ("question", rep.recv());
    }
    test_socket other(context_, ZMQ_REP);
    other.connect(address);
    EXPECT_FALSE(req.readable(quiet_window));
    EXPECT_TRUE(fails_with(EFSM, zmq_send(req, "x", 1, 0)));
}

ZLINK_ALL_TRANSPORTS(ReqRep);

class ZlinkOnlyReqRep : public ReqRep {};

TEST_P(ZlinkOnlyReqRep, numbered_requests_are_repeated_safely_with_several_servers)
{
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_REQ_RELAXED, 1);
    req.set(ZMQ_REQ_CORRELATE, 1);
    std::vector<test_socket> servers;
    for (int index = 0; index < 2; ++index) {
        servers.emplace_back(context_, ZMQ_ROUTER);
        req.connect(servers.back().bind_and_resolve(fresh_bind_address(GetParam())));
    }
    std::vector<parts> asked;
    for (int round = 0; round < 2; ++round) {
        req.send(std::to_string(round));
        asked.push_back(servers[static_cast<std::size_t>(round)].recv_parts());
        ASSERT_EQ(4u, asked.back().size());
    }
    servers[0].send_parts({asked[0][0], asked[0][1], "", "late reply to 0"});
    // Even the other server cannot answer an old request.
    servers[1].send_parts({asked[1][0], asked[0][1], "", "late reply to 0"});
    EXPECT_FALSE(req.readable(quiet_window));
    servers[1].send_parts({asked[1][0], asked[1][1], "", "reply to 1"});
    EXPECT_EQ("reply to 1", req.recv());
}

TEST_P(ZlinkOnlyReqRep, a_relaxed_request_that_finds_no_room_leaves_the_one_before)
{
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_REQ_RELAXED, 1);
    req.set(ZMQ_SNDHWM, 1);
    req.set(ZMQ_RCVHWM, 1);
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_RCVHWM, 1);
    router.set(ZMQ_SNDHWM, 1);
    req.connect(router.bind_and_resolve(fresh_bind_address(GetParam())));
    const std::string big(1'000'000, 'x');
    int sent = 0;
    while (req.try_send(big) && sent < 1000)
        ++sent;
    ASSERT_LT(sent, 1000);
    parts last;
    for (; sent > 0; --sent)
        last = router.recv_parts();
    ASSERT_EQ((parts{last[0], "", big}), last);
    router.send_parts({last[0], "", "reply"});
    EXPECT_EQ("reply", req.recv());
}

TEST_P(ZlinkOnlyReqRep, numbers_begin_with_the_next_request)
{
    auto [router, req, address] = link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ);
    req.send("plain");
    const parts plain = router.recv_parts();
    ASSERT_EQ(3u, plain.size());
    req.set(ZMQ_REQ_CORRELATE, 1);
    router.send_parts({plain[0], "", "reply"});
    EXPECT_EQ("reply", req.recv());
    req.send("numbered");
    const parts numbered = router.recv_parts();
    ASSERT_EQ(4u, numbered.size());
    req.set(ZMQ_REQ_CORRELATE, 0);
    router.send_parts({numbered[0], numbered[1], "", "reply"});
    EXPECT_EQ("reply", req.recv());
}

TEST_P(ZlinkOnlyReqRep, a_request_that_ends_with_its_connection_does_not_keep_the_server)
{
    test_socket rep(context_, ZMQ_REP);
    std::vector<test_socket> clients;
    std::string address;
    for (int round = 0; round < 3; ++round) {
        clients.emplace_back(context_, ZMQ_REQ);
        address = clients.back().bind_and_resolve(fresh_bind_address(GetParam()));
        rep.connect(address);
        clients.back().send_parts({"begun", "rest"});
        EXPECT_EQ("begun", rep.recv());
        rep.disconnect(address);
        EXPECT_EQ("rest", rep.recv());
        rep.send("to nobody");
    }
    test_socket client(context_, ZMQ_REQ);
    rep.connect(client.bind_and_resolve(fresh_bind_address(GetParam())));
    client.send_parts({"next", "request"});
    EXPECT_EQ((parts{"next", "request"}), rep.recv_parts());
    rep.send("reply");
    EXPECT_EQ("reply", client.recv());
}

TEST_P(ZlinkOnlyReqRep, a_reply_that_ends_with_its_connection_does_not_keep_the_client)
{
    test_socket req(context_, ZMQ_REQ);
    std::vector<test_socket> servers;
    for (int round = 0; round < 3; ++round) {
        servers.emplace_back(context_, ZMQ_REP);
        const std::string address = servers.back().bind_and_resolve(fresh_bind_address(GetParam()));
        req.connect(address);
        req.send("question");
        EXPECT_EQ("question", servers.back().recv());
        servers.back().send_parts({"begun", "rest"});
        EXPECT_EQ("begun", req.recv());
        req.disconnect(address);
        EXPECT_EQ("rest", req.recv());
    }
}

ZLINK_ALL_TRANSPORTS(ZlinkOnlyReqRep);

class MalformedReply : public transport_test {};

TEST_P(MalformedReply, ends_the_connection)
{
    auto [router, req, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ,
             [](test_socket& socket) { socket.set(ZMQ_ROUTER_MANDATORY, 1); });
    req.send("question");
    const std::string id = router.recv_parts().front();
    router.send_parts({id, "no delimiter", "reply"});
    EXPECT_FALSE(req.readable(quiet_window));
    EXPECT_TRUE(wait_until([&, &from = router] {
        from.events();
        if (zmq_send(from, id.data(), id.size(), ZMQ_SNDMORE) < 0)
            return zmq_errno() == EHOSTUNREACH;
        from.send("still there?");
        return false;
    }));
}

ZLINK_WIRE_TRANSPORTS(MalformedReply);

TEST(MalformedReplyOverInproc, is_passed_over)
{
    test_context context;
    for (const int correlate : {0, 1}) {
        auto [router, req, address] = link(
            context, transport::inproc, ZMQ_ROUTER, ZMQ_REQ,
            [](test_socket& socket) { socket.set(ZMQ_ROUTER_MANDATORY, 1); },
            [=](test_socket& socket) { socket.set(ZMQ_REQ_CORRELATE, correlate); });
        req.send("question");
        parts good = router.recv_parts();
        for (const parts& bad : {parts{"no delimiter"}, {"no delimiter", "reply"}, {"four"}}) {
            router.send(good.front(), ZMQ_SNDMORE);
            router.send_parts(bad);
        }
        good.back() = "answer";
        router.send_parts(good);
        EXPECT_EQ("answer", req.recv());
    }
}

// The reply to a request of the time when they had numbers may come late.
class LateReply : public transport_test {};

TEST_P(LateReply, with_a_number_is_passed_over)
{
    auto [router, req, address] =
        link(context_, GetParam(), ZMQ_ROUTER, ZMQ_REQ, {}, [](test_socket& socket) {
            socket.set(ZMQ_REQ_CORRELATE, 1);
            socket.set(ZMQ_REQ_RELAXED, 1);
        });
    req.send("first");
    parts numbered = router.recv_parts(); // id, number, delimiter, body
    ASSERT_EQ(4u, numbered.size());
    req.set(ZMQ_REQ_CORRELATE, 0);
    req.send("second");
    parts plain = router.recv_parts();
    ASSERT_EQ(3u, plain.size());
    numbered.back() = "late";
    router.send_parts(numbered);
    plain.back() = "in time";
    router.send_parts(plain);
    EXPECT_EQ("in time", req.recv());
}

ZLINK_ALL_TRANSPORTS(LateReply);

class ReqRepOnTheWire : public transport_test {};

TEST_P(ReqRepOnTheWire, a_reply_may_come_over_the_next_connection)
{
    const std::string address = known_address(GetParam());
    test_socket req(context_, ZMQ_REQ);
    req.set(ZMQ_ROUTING_ID, "q");
    req.set(ZMQ_RECONNECT_IVL, 5);
    req.connect(address);
    {
        test_socket leaves(context_, ZMQ_ROUTER);
        leaves.bind(address);
        req.send("question");
        EXPECT_EQ((parts{"q", "", "question"}), leaves.recv_parts());
    }
    test_socket router(context_, ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    ASSERT_TRUE(wait_until([&] { return router.try_bind(address); }));
    EXPECT_FALSE(router.readable(quiet_window)); // it is not asked again
    ASSERT_TRUE(wait_until([&] { return zmq_send(router, "q", 1, ZMQ_SNDMORE) == 1; }));
    router.send_parts({"", "answer"});
    EXPECT_EQ("answer", req.recv());
}

ZLINK_WIRE_TRANSPORTS(ReqRepOnTheWire);

class ProbingRep : public transport_test {};

TEST_P(ProbingRep, announces_itself_to_every_peer)
{
    for (const bool rep_binds : {true, false}) {
        test_socket rep(context_, ZMQ_REP);
        rep.set(ZMQ_PROBE_ROUTER, 1);
        test_socket dealer(context_, ZMQ_DEALER);
        test_socket& bound = rep_binds ? rep : dealer;
        (rep_binds ? dealer : rep).connect(bound.bind_and_resolve(fresh_bind_address(GetParam())));
        ASSERT_TRUE(wait_until([&] { return rep.events() == 0 && dealer.readable(1ms); }));
        EXPECT_EQ(parts{""}, dealer.recv_parts());
        dealer.send_parts({"", "question"});
        EXPECT_EQ("question", rep.recv());
        rep.send("answer");
        EXPECT_EQ((parts{"", "answer"}), dealer.recv_parts());
    }
}

ZLINK_ALL_TRANSPORTS(ProbingRep);

} // namespace
} // namespace zlink::test
