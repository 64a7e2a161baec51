// SPDX-License-Identifier: Apache-2.0
// STREAM sockets, and ROUTER and REP with ROUTER_RAW: plain bytes with peers that know no ZMTP.

#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "support/fixture.hpp"
#include "support/raw_peer.hpp"

namespace zlink::test {
namespace {

class stream : public transport_test {
protected:
    /// Bound, to be reached at address_.
    test_socket bound(int type = ZMQ_STREAM, const configuration& configure = {})
    {
        test_socket socket(context_, type);
        if (configure)
            configure(socket);
        address_ = socket.bind_and_resolve(fresh_bind_address(GetParam()));
        return socket;
    }

    /// The id of a peer that has just connected.
    static std::string expect_arrival(test_socket& socket)
    {
        const parts notice = socket.recv_parts();
        EXPECT_EQ(notice.size(), 2u);
        EXPECT_EQ(notice.at(1), "");
        return notice.at(0);
    }

    /// Receives chunks from `id` until there are `bytes` bytes.
    static std::string collect(test_socket& socket, const std::string& id, std::size_t bytes)
    {
        std::string all;
        while (all.size() < bytes) {
            const parts chunk = socket.recv_parts();
            EXPECT_EQ(chunk.size(), 2u);
            EXPECT_EQ(chunk.at(0), id);
            if (chunk.at(1).empty()) {
                ADD_FAILURE() << "the peer has gone after " << all.size() << " bytes";
                return all;
            }
            EXPECT_LE(chunk.at(1).size(), 8192u);
            all += chunk.at(1);
        }
        return all;
    }

    std::string address_;
};

ZLINK_LINKS_WITH(stream, has_plain_zmtp);

std::string pattern_bytes(std::size_t bytes)
{
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i)
        text[i] = static_cast<char>(i * 7 + i / 251);
    return text;
}

TEST_P(stream, tells_when_a_peer_comes_and_goes)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    EXPECT_EQ(id.size(), 5u);
    EXPECT_EQ(id.front(), '\0');
    peer.send("hello");
    EXPECT_EQ(socket.recv_parts(), (parts{id, "hello"}));
    socket.send_parts({id, "welcome"});
    EXPECT_EQ(peer.recv(7), "welcome");
    peer.close();
    EXPECT_EQ(socket.recv_parts(), (parts{id, ""}));
    EXPECT_TRUE(wait_until([&] {
        return zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1 &&
               zmq_errno() == EHOSTUNREACH;
    }));
}

TEST_P(stream, keeps_quiet_about_it_if_told_so)
{
    test_socket socket = bound(ZMQ_STREAM, [](test_socket& s) { s.set(ZMQ_STREAM_NOTIFY, 0); });
    raw_peer peer(address_);
    peer.send("hello");
    EXPECT_EQ(socket.recv_parts().at(1), "hello");
    peer.close();
    EXPECT_EQ(socket.try_recv_parts(), std::nullopt);
}

TEST_P(stream, sends_nothing_of_its_own)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    socket.send_parts({id, ""});
    EXPECT_EQ(peer.recv_to_end(), "");
}

TEST_P(stream, two_sockets_exchange_bytes)
{
    test_socket server = bound();
    test_socket client(context_, ZMQ_STREAM);
    client.connect(address_);
    const std::string to_client = expect_arrival(server);
    const std::string to_server = expect_arrival(client);
    for (int i = 0; i < 100; ++i) {
        client.send_parts({to_server, "question"});
        EXPECT_EQ(collect(server, to_client, 8), "question");
        server.send_parts({to_client, "answer"});
        EXPECT_EQ(collect(client, to_server, 6), "answer");
    }
}

TEST_P(stream, passes_many_bytes_in_order_both_ways)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string text = pattern_bytes(3'000'000);
    std::thread talker([&] { peer.send(text); });
    EXPECT_TRUE(collect(socket, id, text.size()) == text);
    talker.join();
    std::string received;
    std::thread reader([&] { received = peer.recv(text.size()); });
    for (std::size_t at = 0, bytes = 1; at < text.size();
         at += bytes, bytes = bytes * 3 % 40'000 + 1)
        socket.send_parts({id, text.substr(at, bytes)});
    reader.join();
    EXPECT_TRUE(received == text);
}

TEST_P(stream, small_messages_arrive_in_order)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    std::string expected;
    for (int i = 0; i < 20'000; ++i)
        expected += std::to_string(i) + ",";
    std::string received;
    std::thread reader([&] { received = peer.recv(expected.size()); });
    for (int i = 0; i < 20'000; ++i)
        socket.send_parts({id, std::to_string(i) + ","});
    reader.join();
    EXPECT_TRUE(received == expected);
}

TEST_P(stream, messages_with_memory_of_the_application_are_sent_and_given_back)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    static std::atomic<int> freed{0};
    freed = 0;
    std::string text = pattern_bytes(100'000);
    for (int i = 0; i < 10; ++i) {
        socket.send(id, ZMQ_SNDMORE);
        zmq_msg_t message;
        ASSERT_EQ(zmq_msg_init_data(
                      &message, text.data(), text.size(), [](void*, void*) { ++freed; }, nullptr),
                  0);
        ASSERT_EQ(zmq_msg_send(&message, socket, 0), static_cast<int>(text.size()));
        EXPECT_TRUE(peer.recv(text.size()) == text);
    }
    EXPECT_TRUE(wait_until([] { return freed == 10; }));
}

TEST_P(stream, several_peers_are_told_apart)
{
    test_socket socket = bound();
    raw_peer first(address_);
    const std::string first_id = expect_arrival(socket);
    raw_peer second(address_);
    const std::string second_id = expect_arrival(socket);
    EXPECT_NE(first_id, second_id);
    first.send("one");
    EXPECT_EQ(socket.recv_parts(), (parts{first_id, "one"}));
    second.send("two");
    EXPECT_EQ(socket.recv_parts(), (parts{second_id, "two"}));
    for (int i = 0; i < 3; ++i) {
        socket.send_parts({second_id, "to two"});
        socket.send_parts({first_id, "to one"});
        EXPECT_EQ(first.recv(6), "to one");
        EXPECT_EQ(second.recv(6), "to two");
    }
}

TEST_P(stream, an_empty_chunk_closes_the_connection_after_what_is_queued)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string text = pattern_bytes(5'000'000);
    socket.send_parts({id, text});
    socket.send_parts({id, ""});
    // Not yet gone, but nothing more is taken.
    EXPECT_TRUE(
        fails_with(EAGAIN, zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT)));
    EXPECT_TRUE(peer.recv_to_end() == text);
    EXPECT_TRUE(wait_until([&] {
        return zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1 &&
               zmq_errno() == EHOSTUNREACH;
    }));
    EXPECT_EQ(socket.try_recv_parts(), std::nullopt) << "its own doing needs no notice";
}

TEST_P(stream, a_sender_that_waits_for_a_peer_to_end_is_told)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string text = pattern_bytes(5'000'000);
    socket.send_parts({id, text});
    socket.send_parts({id, ""});
    std::thread reader([&] { EXPECT_TRUE(peer.recv_to_end() == text); });
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE)));
    reader.join();
}

TEST_P(stream, what_came_before_the_end_can_still_be_read)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    peer.send("pending");
    ASSERT_TRUE(socket.readable());
    socket.send_parts({id, ""});
    EXPECT_EQ(peer.recv_to_end(), "");
    EXPECT_EQ(socket.recv_parts(), (parts{id, "pending"}));
    EXPECT_EQ(socket.try_recv_parts(), std::nullopt);
}

TEST_P(stream, closing_the_socket_does_not_wait_longer_than_linger_for_an_ending_peer)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    socket.send_parts({id, pattern_bytes(20'000'000)});
    socket.send_parts({id, ""});
    socket.close(); // linger 0; the context is terminated by the fixture
    const stopwatch time;
    context_.term();
    EXPECT_LT(time.elapsed_ms(), 5000);
}

TEST_P(stream, unknown_peers_are_unreachable)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, "nobody", 6, ZMQ_SNDMORE)));
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, "", 0, ZMQ_SNDMORE)));
    socket.send_parts({id, "still"});
    EXPECT_EQ(peer.recv(5), "still");
}

TEST_P(stream, an_id_alone_is_dropped_with_the_part_after_it)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    socket.send(id);
    socket.send("dropped");
    socket.send(id, ZMQ_SNDMORE);
    socket.send("A", ZMQ_SNDMORE); // a chunk is one part, whatever the flag says
    socket.send_parts({id, "B"});
    EXPECT_EQ(peer.recv(2), "AB");
}

// Small chunks to the peer that was sent to before take a shorter way than all others.

TEST_P(stream, chunks_of_all_kinds_keep_their_order)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string large = pattern_bytes(5000);
    std::string expected;
    for (int round = 0; round < 30; ++round) {
        for (int i = 0; i < 3; ++i)
            socket.send_parts({id, "small"});
        socket.send(id, ZMQ_SNDMORE);
        socket.send("flagged", ZMQ_SNDMORE); // a chunk is one part, whatever the flag says
        socket.send_parts({id, large});
        socket.send(id);
        socket.send("dropped");
        socket.send_parts({id, "x"});
        expected += "smallsmallsmallflagged" + large + "x";
    }
    EXPECT_TRUE(peer.recv(expected.size()) == expected);
}

TEST_P(stream, two_peers_are_sent_small_chunks_in_any_order)
{
    test_socket socket = bound();
    raw_peer first(address_);
    const std::string first_id = expect_arrival(socket);
    raw_peer second(address_);
    const std::string second_id = expect_arrival(socket);
    std::string to_first;
    std::string to_second;
    for (int i = 0; i < 200; ++i) {
        const bool second_now = i / 5 % 2 == 0 || i % 3 == 0;
        const std::string chunk = std::to_string(i) + ',';
        socket.send_parts({second_now ? second_id : first_id, chunk});
        (second_now ? to_second : to_first) += chunk;
    }
    EXPECT_EQ(first.recv(to_first.size()), to_first);
    EXPECT_EQ(second.recv(to_second.size()), to_second);
}

TEST_P(stream, an_ending_peer_is_sent_nothing_after_small_chunks)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string text = pattern_bytes(5'000'000);
    socket.send_parts({id, text});
    for (int i = 0; i < 10; ++i)
        socket.send_parts({id, "small"});
    socket.send_parts({id, ""});
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(
            fails_with(EAGAIN, zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT)));
    const std::string received = peer.recv_to_end();
    EXPECT_EQ(received.size(), text.size() + 50);
    EXPECT_TRUE(received.starts_with(text) && received.ends_with("smallsmall"));
}

TEST_P(stream, a_chunk_goes_to_nobody_when_its_peer_has_left)
{
    test_socket socket = bound();
    raw_peer stays(address_);
    const std::string stays_id = expect_arrival(socket);
    {
        raw_peer leaves(address_);
        const std::string leaves_id = expect_arrival(socket);
        for (int i = 0; i < 10; ++i)
            socket.send_parts({leaves_id, "small"});
        EXPECT_EQ(leaves.recv(50).size(), 50u);
        socket.send(leaves_id, ZMQ_SNDMORE);
        leaves.close();
        EXPECT_EQ(socket.recv_parts(), (parts{leaves_id, ""}));
    }
    socket.send("lost");
    for (int i = 0; i < 10; ++i)
        socket.send_parts({stays_id, "small"});
    EXPECT_EQ(stays.recv(10), "smallsmall");
}

TEST_P(stream, a_full_peer_lets_the_sender_wait)
{
    test_socket socket = bound(ZMQ_STREAM, [](test_socket& s) {
        s.set(ZMQ_SNDHWM, 10);
        s.set(ZMQ_SNDTIMEO, 50);
    });
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string text = pattern_bytes(200'000);
    std::size_t sent = 0;
    while (zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1) {
        socket.send(text);
        ASSERT_LT(++sent, 10'000u);
    }
    EXPECT_EQ(zmq_errno(), EAGAIN);
    // The kernel may still find room for more while the sender waits.
    while (zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE) != -1) {
        socket.send(text);
        ASSERT_LT(++sent, 10'000u);
    }
    EXPECT_EQ(zmq_errno(), EAGAIN);
    raw_peer other(address_);
    const std::string other_id = expect_arrival(socket);
    socket.send_parts({other_id, "others are served"});
    EXPECT_EQ(other.recv(17), "others are served");
    socket.set(ZMQ_SNDTIMEO, static_cast<int>(patience.count()));
    std::string received;
    std::thread reader([&] { received = peer.recv((sent + 1) * text.size()); });
    socket.send_parts({id, text});
    reader.join();
    EXPECT_TRUE(received.substr(received.size() - text.size()) == text);
}

TEST_P(stream, a_socket_that_does_not_read_holds_its_peer_back)
{
    test_socket socket = bound(ZMQ_STREAM, [](test_socket& s) { s.set(ZMQ_RCVHWM, 4); });
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    const std::string text = pattern_bytes(30'000'000); // more than the kernel keeps
    std::atomic<bool> done{false};
    std::thread talker([&] {
        peer.send(text);
        done = true;
    });
    EXPECT_FALSE(wait_until([&] { return done.load(); }, std::chrono::milliseconds(200)));
    EXPECT_TRUE(collect(socket, id, text.size()) == text);
    talker.join();
}

TEST_P(stream, properties_name_the_peer)
{
    test_socket socket = bound();
    raw_peer peer(address_);
    peer.send("x");
    for (int message = 0; message < 2; ++message) {
        for (int part = 0; part < 2; ++part) {
            zmq_msg_t received;
            zmq_msg_init(&received);
            ASSERT_NE(zmq_msg_recv(&received, socket, 0), -1);
            if (GetParam() == transport::tcp) {
                const char* address = zmq_msg_gets(&received, "Peer-Address");
                ASSERT_NE(address, nullptr);
                EXPECT_STREQ(address, "127.0.0.1");
            }
            ASSERT_NE(zmq_msg_gets(&received, "__fd"), nullptr);
            EXPECT_EQ(zmq_msg_gets(&received, "Socket-Type"), nullptr);
            zmq_msg_close(&received);
        }
    }
}

TEST_P(stream, size_limit_and_handshake_time_do_not_count)
{
    test_socket socket = bound(ZMQ_STREAM, [](test_socket& s) {
        const std::int64_t limit = 10;
        ASSERT_EQ(zmq_setsockopt(s, ZMQ_MAXMSGSIZE, &limit, sizeof limit), 0);
        s.set(ZMQ_HANDSHAKE_IVL, 20);
    });
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    EXPECT_EQ(socket.try_recv_parts(std::chrono::milliseconds(100)), std::nullopt);
    peer.send(pattern_bytes(10'000));
    EXPECT_EQ(collect(socket, id, 10'000).size(), 10'000u);
}

TEST_P(stream, raw_router_behaves_like_it)
{
    test_socket socket = bound(ZMQ_ROUTER, [](test_socket& s) { s.set(ZMQ_ROUTER_RAW, 1); });
    raw_peer peer(address_);
    const std::string id = expect_arrival(socket);
    peer.send("hello");
    EXPECT_EQ(socket.recv_parts(), (parts{id, "hello"}));
    socket.send_parts({"nobody", "dropped"});
    socket.send_parts({id, "welcome"});
    EXPECT_EQ(peer.recv(7), "welcome");
    socket.set(ZMQ_ROUTER_MANDATORY, 1);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, "nobody", 6, ZMQ_SNDMORE)));
    socket.send_parts({id, "bye"});
    socket.send_parts({id, ""});
    EXPECT_EQ(peer.recv_to_end(), "bye");
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE)));
}

TEST_P(stream, raw_rep_sees_no_requests_in_plain_bytes)
{
    test_socket socket = bound(ZMQ_REP, [](test_socket& s) { s.set(ZMQ_ROUTER_RAW, 1); });
    raw_peer peer(address_);
    peer.send("hello");
    EXPECT_EQ(socket.try_recv_parts(), std::nullopt);
}

TEST(stream_client, knows_its_peer_before_it_is_there)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.connect(listener.endpoint());
    char id[256];
    std::size_t bytes = sizeof id;
    ASSERT_EQ(zmq_getsockopt(socket, ZMQ_ROUTING_ID, id, &bytes), 0);
    EXPECT_EQ(bytes, 5u);
    const std::string peer_id(id, bytes);
    socket.send_parts({peer_id, "early"});
    raw_peer peer = listener.accept();
    EXPECT_EQ(peer.recv(5), "early");
    EXPECT_EQ(socket.recv_parts(), (parts{peer_id, ""}));
    peer.send("answer");
    EXPECT_EQ(socket.recv_parts(), (parts{peer_id, "answer"}));
}

TEST(stream_client, names_its_peer)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_CONNECT_ROUTING_ID, "named");
    socket.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    EXPECT_EQ(socket.recv_parts(), (parts{"named", ""}));
    socket.send_parts({"named", "hello"});
    EXPECT_EQ(peer.recv(5), "hello");
    socket.set(ZMQ_CONNECT_ROUTING_ID, "named");
    EXPECT_TRUE(fails_with(EINVAL, zmq_connect(socket, listener.endpoint().c_str())));
}

TEST(stream_client, calls_again_under_the_same_id)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_RECONNECT_IVL, 10);
    socket.connect(listener.endpoint());
    std::string id;
    for (int turn = 0; turn < 3; ++turn) {
        raw_peer peer = listener.accept();
        const parts notice = socket.recv_parts();
        if (turn == 0)
            id = notice.at(0);
        EXPECT_EQ(notice, (parts{id, ""}));
        if (turn > 0) {
            EXPECT_EQ(peer.recv(3), "gap") << "sent while there was no connection";
        }
        socket.send_parts({id, "hello"});
        EXPECT_EQ(peer.recv(5), "hello");
        if (turn == 1)
            peer.abort();
        else
            peer.close();
        EXPECT_EQ(socket.recv_parts(), (parts{id, ""}));
        if (turn < 2)
            socket.send_parts({id, "gap"});
    }
}

class stream_break : public ::testing::TestWithParam<std::size_t> {};

TEST_P(stream_break, next_connection_begins_with_a_whole_message)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_RECONNECT_IVL, 10);
    socket.set(ZMQ_SNDHWM, 1000);
    socket.connect(listener.endpoint());
    raw_peer first = listener.accept();
    const std::string id = socket.recv_parts().at(0);
    std::string block(GetParam(), 'x');
    block.front() = '<';
    block.back() = '>';
    while (zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1)
        socket.send(block);
    first.abort();
    EXPECT_EQ(socket.recv_parts(), (parts{id, ""}));
    raw_peer second = listener.accept();
    // As many more as there is room for: of small messages most may have been in what broke.
    for (int i = 0; i < 100; ++i)
        if (zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1)
            socket.send(block);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(second.recv(block.size()) == block) << i;
}

// Copied into a chunk of memory with others; alone in it; in memory of its own.
INSTANTIATE_TEST_SUITE_P(bytes, stream_break, ::testing::Values(111, 7'777, 100'000));

TEST(stream_client, does_not_call_again_after_it_has_ended_the_connection)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_RECONNECT_IVL, 10);
    socket.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    const std::string id = socket.recv_parts().at(0);
    socket.send_parts({id, "bye"});
    socket.send_parts({id, ""});
    EXPECT_EQ(peer.recv_to_end(), "bye");
    EXPECT_FALSE(listener.has_caller(std::chrono::milliseconds(200)));
    EXPECT_EQ(socket.try_recv_parts(), std::nullopt);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE)));
}

TEST(stream_client, ends_what_has_gone_already)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_RECONNECT_IVL, 100);
    socket.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    const std::string id = socket.recv_parts().at(0);
    peer.close();
    EXPECT_EQ(socket.recv_parts(), (parts{id, ""}));
    socket.send_parts({id, ""});
    EXPECT_TRUE(wait_until([&] {
        return zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE | ZMQ_DONTWAIT) == -1 &&
               zmq_errno() == EHOSTUNREACH;
    }));
    EXPECT_FALSE(listener.has_caller(std::chrono::milliseconds(300)));
}

TEST(stream_client, disconnecting_ends_it_without_a_notice)
{
    test_context context;
    raw_listener listener;
    test_socket socket(context, ZMQ_STREAM);
    socket.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    const std::string id = socket.recv_parts().at(0);
    socket.disconnect(listener.endpoint());
    EXPECT_EQ(peer.recv_to_end(), "");
    EXPECT_EQ(socket.try_recv_parts(), std::nullopt);
    EXPECT_TRUE(fails_with(EHOSTUNREACH, zmq_send(socket, id.data(), id.size(), ZMQ_SNDMORE)));
}

TEST(stream_options, belong_to_the_types_that_have_them)
{
    test_context context;
    test_socket socket(context, ZMQ_STREAM);
    for (const int value : {0, 1})
        socket.set(ZMQ_STREAM_NOTIFY, value);
    for (const int value : {-1, 2})
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, ZMQ_STREAM_NOTIFY, &value, 4)));
    const int on = 1;
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, ZMQ_STREAM_NOTIFY, &on, 1)));
    for (const int option : {ZMQ_ROUTER_MANDATORY, ZMQ_ROUTER_RAW, ZMQ_PROBE_ROUTER})
        EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, option, &on, 4)));
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(socket, ZMQ_CONNECT_ROUTING_ID, "", 0)));
    test_socket router(context, ZMQ_ROUTER);
    EXPECT_TRUE(fails_with(EINVAL, zmq_setsockopt(router, ZMQ_STREAM_NOTIFY, &on, 4)));
    EXPECT_EQ(socket.events() & ZMQ_POLLOUT, ZMQ_POLLOUT);
}

TEST(stream_lingering, what_was_sent_is_delivered)
{
    raw_listener listener;
    const std::string text = pattern_bytes(5'000'000);
    std::string received;
    std::unique_ptr<raw_peer> peer;
    std::thread reader;
    {
        test_context context;
        test_socket socket(context, ZMQ_STREAM);
        socket.set(ZMQ_LINGER, -1);
        socket.set(ZMQ_CONNECT_ROUTING_ID, "peer");
        socket.connect(listener.endpoint());
        for (std::size_t at = 0; at < text.size(); at += 50'000)
            socket.send_parts({"peer", text.substr(at, 50'000)});
        peer = std::make_unique<raw_peer>(listener.accept());
        reader = std::thread([&] { received = peer->recv_to_end(); });
    }
    reader.join();
    EXPECT_TRUE(received == text);
}

TEST(stream_endpoints, give_notice_as_they_did_when_they_were_bound)
{
    test_context context;
    test_socket socket(context, ZMQ_STREAM);
    const std::string telling = socket.bind_and_resolve("tcp://127.0.0.1:*");
    socket.set(ZMQ_STREAM_NOTIFY, 0);
    const std::string quiet = socket.bind_and_resolve("tcp://127.0.0.1:*");
    socket.set(ZMQ_STREAM_NOTIFY, 1);
    raw_peer unseen(quiet);
    unseen.send("x");
    EXPECT_EQ("x", socket.recv_parts().at(1));
    socket.set(ZMQ_STREAM_NOTIFY, 0);
    raw_peer seen(telling);
    EXPECT_EQ("", socket.recv_parts().at(1));
}

TEST(stream_endpoints, give_notice_as_they_did_when_they_were_connected)
{
    for (const int told : {0, 1}) {
        const raw_listener listener;
        test_context context;
        test_socket socket(context, ZMQ_STREAM);
        socket.set(ZMQ_RECONNECT_IVL, 5);
        socket.set(ZMQ_STREAM_NOTIFY, told);
        socket.connect(listener.endpoint());
        socket.set(ZMQ_STREAM_NOTIFY, 1 - told);
        const parts expected = told ? parts{"", "x", ""} : parts{"x"}; // it comes, and it goes
        for (int connection = 0; connection < 2; ++connection) {
            listener.accept().send("x");
            for (const std::string& body : expected)
                EXPECT_EQ(body, socket.recv_parts().at(1)) << connection;
        }
    }
}

TEST(ZlinkOnlyStream, chunks_are_as_large_as_was_wanted_at_the_bind)
{
    test_context context;
    test_socket socket(context, ZMQ_STREAM);
    socket.set(ZMQ_STREAM_NOTIFY, 0);
    socket.set(ZMQ_IN_BATCH_SIZE, 100);
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    socket.set(ZMQ_IN_BATCH_SIZE, 10);
    raw_peer peer(address);
    peer.send(std::string(1000, 'x'));
    std::size_t all = 0;
    std::size_t largest = 0;
    while (all < 1000) {
        const std::size_t size = socket.recv_parts().at(1).size();
        all += size;
        largest = std::max(largest, size);
    }
    EXPECT_GE(100u, largest);
    EXPECT_LT(10u, largest);
}

TEST(StreamInproc, can_be_bound)
{
    test_context context;
    test_socket socket(context, ZMQ_STREAM);
    EXPECT_EQ(0, zmq_bind(socket, "inproc://stream"));
    EXPECT_EQ("inproc://stream", socket.last_endpoint());
}

} // namespace
} // namespace zlink::test
