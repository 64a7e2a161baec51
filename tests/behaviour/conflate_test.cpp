// SPDX-License-Identifier: Apache-2.0
// CONFLATE: only the newest message is kept.
#define ZMQ_BUILD_DRAFT_API
#include "support/draft.hpp"
#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

#include <thread>

namespace zlink::test {
namespace {

void keep_only_the_last(test_socket& socket)
{
    socket.set(ZMQ_CONFLATE, 1);
}

class Conflate : public transport_test {};

TEST_P(Conflate, a_receiver_sees_the_newest_message)
{
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, keep_only_the_last, keep_only_the_last);
    for (int index = 0; index < 1000; ++index)
        peer.send(std::to_string(index));
    // The numbers only grow, and the last one is never replaced.
    int last = -1;
    while (last != 999) {
        const int number = std::stoi(bound.recv());
        ASSERT_LT(last, number);
        last = number;
    }
    EXPECT_FALSE(bound.readable(std::chrono::milliseconds(5)));
}

TEST_P(Conflate, never_blocks_the_sender)
{
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_DEALER, ZMQ_DEALER, keep_only_the_last, keep_only_the_last);
    for (int index = 0; index < 10'000; ++index)
        ASSERT_TRUE(peer.try_send("x"));
    EXPECT_EQ("x", bound.recv());
}

TEST_P(Conflate, a_subscriber_gets_the_latest_state)
{
    test_socket publisher(context_, ZMQ_PUB);
    test_socket subscriber(context_, ZMQ_SUB);
    subscriber.set(ZMQ_CONFLATE, 1);
    subscriber.set(ZMQ_SUBSCRIBE, "");
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    ASSERT_TRUE(wait_until([&] {
        publisher.send("first");
        return subscriber.readable(std::chrono::milliseconds(2));
    }));
    for (int index = 0; index < 500; ++index)
        publisher.send(std::to_string(index));
    ASSERT_TRUE(wait_until([&] { return subscriber.recv() == "499"; }));
}

TEST_P(Conflate, the_newest_large_message_arrives_undamaged)
{
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, keep_only_the_last, keep_only_the_last);
    std::thread sending([&socket = peer] {
        for (int index = 0; index < 200; ++index)
            socket.send(std::string(20'000, static_cast<char>(index)));
    });
    std::string body;
    do {
        body = bound.recv();
        ASSERT_EQ(20'000u, body.size());
        ASSERT_EQ(std::string(20'000, body[0]), body);
    } while (body[0] != static_cast<char>(199));
    sending.join();
}

TEST_P(Conflate, a_receiver_that_conflates_never_blocks_a_plain_sender)
{
    const auto small_queue = [](test_socket& socket) { socket.set(ZMQ_SNDHWM, 1); };
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, keep_only_the_last, small_queue);
    const std::string body(10'000, 'x');
    for (int index = 0; index < 3000; ++index)
        peer.send(body);
    peer.send("last");
    ASSERT_TRUE(wait_until([&bound = bound] { return bound.recv() == "last"; }));
    EXPECT_FALSE(bound.readable(std::chrono::milliseconds(5)));
}

TEST_P(Conflate, a_message_seen_by_poll_gives_way_to_a_newer_one)
{
    auto [bound, peer, address] =
        link(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, keep_only_the_last, keep_only_the_last);
    peer.send("old");
    ASSERT_TRUE(bound.readable());
    peer.send("new");
    // Over a wire the old one may come first, but it must not come instead.
    std::string body = bound.recv();
    if (body == "old")
        body = bound.recv();
    EXPECT_EQ("new", body);
}

TEST_P(Conflate, a_publisher_keeps_all_subscriptions)
{
    test_socket publisher(context_, ZMQ_PUB);
    publisher.set(ZMQ_CONFLATE, 1);
    test_socket subscriber(context_, ZMQ_SUB);
    subscriber.set(ZMQ_CONFLATE, 1);
    const std::vector<std::string> topics{"a", "b", "c", "d"};
    subscriber.connect(publisher.bind_and_resolve(fresh_bind_address(GetParam())));
    for (const auto& topic : topics)
        subscriber.set(ZMQ_SUBSCRIBE, topic);
    for (const auto& topic : topics) {
        ASSERT_TRUE(wait_until([&] {
            publisher.send(topic);
            return subscriber.readable(std::chrono::milliseconds(2)) && subscriber.recv() == topic;
        }));
    }
}

ZLINK_ALL_TRANSPORTS(Conflate);

/// Sends to nobody, then binds a receiver: only the newest message must come.
void expect_newest_after_late_bind(test_context& context, transport kind)
{
    test_socket source(context, ZMQ_PUSH);
    source.set(ZMQ_CONFLATE, 1);
    source.set(ZMQ_SNDHWM, 1);
    const std::string address = known_address(kind);
    source.connect(address);
    for (int index = 0; index < 100; ++index)
        source.send(std::to_string(index));
    test_socket sink(context, ZMQ_PULL);
    sink.set(ZMQ_CONFLATE, 1);
    sink.bind(address);
    EXPECT_EQ("99", sink.recv());
    EXPECT_FALSE(sink.readable(std::chrono::milliseconds(5)));
}

class ConflateLateBind : public transport_test {};

TEST_P(ConflateLateBind, a_sender_without_peer_keeps_the_newest_message)
{
    expect_newest_after_late_bind(context_, GetParam());
}

TEST_P(ConflateLateBind, the_newest_message_waits_for_a_new_connection)
{
    test_socket source(context_, ZMQ_PUSH);
    source.set(ZMQ_CONFLATE, 1);
    source.set(ZMQ_RECONNECT_IVL, 1);
    const std::string address = known_address(GetParam());
    {
        test_socket sink(context_, ZMQ_PULL);
        sink.bind(address);
        source.connect(address);
        source.send("seen");
        ASSERT_EQ("seen", sink.recv());
        sink.close();
    }
    // Until the loss is noticed messages may go to the dead connection.
    ASSERT_TRUE(wait_until([&] {
        source.send("lost");
        source.send("newest");
        test_socket sink(context_, ZMQ_PULL);
        if (!sink.try_bind(address))
            return false;
        return sink.readable(std::chrono::milliseconds(200)) && sink.recv() == "newest";
    }));
}

ZLINK_WIRE_TRANSPORTS(ConflateLateBind);

TEST(ZlinkOnlyConflate, a_plain_inproc_sender_conflates_once_the_receiver_says_so)
{
    test_context context;
    const std::string address = known_address(transport::inproc);
    test_socket source(context, ZMQ_PUSH);
    source.connect(address);
    for (int index = 0; index < 10; ++index)
        source.send("early");
    test_socket sink(context, ZMQ_PULL);
    sink.set(ZMQ_CONFLATE, 1);
    sink.bind(address);
    for (int index = 0; index < 10'000; ++index)
        ASSERT_TRUE(source.try_send(std::to_string(index)));
    EXPECT_EQ("9999", sink.recv());
    EXPECT_FALSE(sink.readable(std::chrono::milliseconds(5)));
}

TEST(ZlinkOnlyConflate, an_inproc_sender_without_peer_keeps_the_newest_message)
{
    test_context context;
    expect_newest_after_late_bind(context, transport::inproc);
}

// --- types that do not conflate -----------------------------------------------------------------

constexpr int unread = 100;

/// All messages arrive, though nobody reads before the last was sent.
void expect_all(test_socket& sender, test_socket& receiver)
{
    for (int index = 0; index < unread; ++index)
        sender.send(std::to_string(index));
    for (int index = 0; index < unread; ++index)
        ASSERT_EQ(std::to_string(index), receiver.recv());
}

class ConflateElsewhere : public transport_test {};

TEST_P(ConflateElsewhere, leaves_questions_and_answers_whole)
{
    auto [rep, req, address] =
        link(context_, GetParam(), ZMQ_REP, ZMQ_REQ, keep_only_the_last, keep_only_the_last);
    for (int round = 0; round < 3; ++round) {
        const parts question{"a question", "in", "parts", std::to_string(round)};
        req.send_parts(question);
        EXPECT_EQ(question, rep.recv_parts());
        const parts answer{"an answer", "in", "parts", std::to_string(round)};
        rep.send_parts(answer);
        EXPECT_EQ(answer, req.recv_parts());
    }
}

TEST_P(ConflateElsewhere, leaves_every_question_to_a_rep)
{
    auto [rep, dealer, address] =
        link(context_, GetParam(), ZMQ_REP, ZMQ_DEALER, keep_only_the_last);
    for (int index = 0; index < unread; ++index)
        dealer.send_parts({"", std::to_string(index)});
    for (int index = 0; index < unread; ++index) {
        ASSERT_EQ(std::to_string(index), rep.recv());
        rep.send("answer to " + std::to_string(index));
    }
    for (int index = 0; index < unread; ++index)
        ASSERT_EQ((parts{"", "answer to " + std::to_string(index)}), dealer.recv_parts());
}

TEST_P(ConflateElsewhere, leaves_every_message_to_client_and_server)
{
    auto [server, client, address] =
        link(context_, GetParam(), ZMQ_SERVER, ZMQ_CLIENT, keep_only_the_last, keep_only_the_last);
    expect_all(client, server);
    client.send("first");
    draft_message first;
    receive(server, first);
    for (int index = 0; index < unread; ++index)
        ASSERT_LT(0, send_to(server, first.routing_id(), std::to_string(index)));
    for (int index = 0; index < unread; ++index)
        ASSERT_EQ(std::to_string(index), client.recv());
}

TEST_P(ConflateElsewhere, leaves_every_message_to_gather)
{
    auto [gather, scatter, address] =
        link(context_, GetParam(), ZMQ_GATHER, ZMQ_SCATTER, keep_only_the_last, keep_only_the_last);
    expect_all(scatter, gather);
}

TEST_P(ConflateElsewhere, leaves_every_message_to_channels)
{
    auto [bound, peer, address] = link(context_, GetParam(), ZMQ_CHANNEL, ZMQ_CHANNEL,
                                       keep_only_the_last, keep_only_the_last);
    expect_all(peer, bound);
    expect_all(bound, peer);
}

ZLINK_ALL_TRANSPORTS(ConflateElsewhere);

TEST(ConflateOnStream, leaves_every_byte)
{
    test_context context;
    test_socket stream(context, ZMQ_STREAM);
    keep_only_the_last(stream);
    const raw_peer peer(stream.bind_and_resolve("tcp://127.0.0.1:*"));
    const std::string first(100'000, 'x');
    peer.send(first);
    // Of what has come, only the last chunk would be there.
    const parts arrival = stream.recv_parts();
    ASSERT_EQ(2u, arrival.size());
    EXPECT_EQ("", arrival[1]);
    std::size_t bytes = 0;
    while (bytes < first.size()) {
        const parts chunk = stream.recv_parts();
        ASSERT_EQ(2u, chunk.size());
        ASSERT_EQ(arrival[0], chunk[0]);
        bytes += chunk[1].size();
    }
    EXPECT_EQ(first.size(), bytes);
    std::string all;
    for (int index = 0; index < unread; ++index) {
        all += std::to_string(index);
        stream.send_parts({arrival[0], std::to_string(index)});
    }
    EXPECT_EQ(all, peer.recv(all.size()));
}

} // namespace
} // namespace zlink::test
