// SPDX-License-Identifier: Apache-2.0
// A peer that sends without end what a socket drops or only takes note of: no call is kept from
// returning, and the other peers are served as before.
#include "support/draft.hpp"
#include "support/flooder.hpp"
#include "support/sanitizers.hpp"
#include "support/steady_rate.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <pthread.h>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

// What a call that is not kept from returning takes at most, on a busy machine.
constexpr long longest_call_ms = 1000;

/// A socket type, and what a hostile peer sends it.
struct flood_row {
    const char* name;
    int type;
    const char* peer_type;
    std::string bytes;
};

void PrintTo(const flood_row& row, std::ostream* out)
{
    *out << row.name;
}

std::string name_of_row(const flood_row& row, transport kind)
{
    return std::string(row.name) + "_over_" + name_of(kind);
}

flooder flood(test_socket& socket, transport kind, const flood_row& row)
{
    raw_peer peer(socket.bind_and_resolve(fresh_bind_address(kind)));
    zmtp::shake_hands(peer, row.peer_type);
    return {std::move(peer), row.bytes};
}

std::string parts_of(const std::vector<std::string>& parts)
{
    std::string bytes;
    for (std::size_t i = 0; i < parts.size(); ++i)
        bytes += zmtp::frame(parts[i], i + 1 < parts.size() ? zmtp::more : 0);
    return bytes;
}

// --- sending -----------------------------------------------------------------------------------

// Of calls in a row for a while.
long longest_send_ms(test_socket& socket)
{
    constexpr long while_ms = 400;
    long longest_ms = 0;
    for (const stopwatch since_first; since_first.elapsed_ms() < while_ms;) {
        const stopwatch since_begin;
        EXPECT_EQ(1, zmq_send(socket, "x", 1, ZMQ_DONTWAIT));
        longest_ms = std::max(longest_ms, since_begin.elapsed_ms());
        std::this_thread::yield();
    }
    return longest_ms;
}

class FloodedSender : public ::testing::TestWithParam<std::tuple<flood_row, transport>> {};

TEST_P(FloodedSender, returns_from_each_call)
{
    const auto& [row, kind] = GetParam();
    test_context context;
    test_socket socket(context, row.type);
    const flooder hostile = flood(socket, kind, row);
    EXPECT_LT(longest_send_ms(socket), longest_call_ms);
}

const std::string subscriptions = zmtp::command("SUBSCRIBE", "topic");
const std::string groups = zmtp::command("JOIN", "group") + zmtp::command("LEAVE", "group");

INSTANTIATE_TEST_SUITE_P(
    Of, FloodedSender,
    ::testing::Combine(
        ::testing::Values(flood_row{"pub_by_subscriptions", ZMQ_PUB, "SUB", subscriptions},
                          flood_row{"pub_by_old_subscriptions", ZMQ_PUB, "SUB",
                                    zmtp::frame("\1topic")},
                          flood_row{"pub_by_changes", ZMQ_PUB, "SUB",
                                    zmtp::command("CANCEL", "topic") + subscriptions},
                          flood_row{"pub_by_messages", ZMQ_PUB, "XSUB", zmtp::frame("message")},
                          flood_row{"xpub_by_subscriptions", ZMQ_XPUB, "SUB", subscriptions}),
        ::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp))),
    [](const auto& info) { return name_of_row(std::get<0>(info.param), std::get<1>(info.param)); });
INSTANTIATE_TEST_SUITE_P(
    ZlinkOnlyOf, FloodedSender,
    ::testing::Combine(::testing::Values(flood_row{"radio_by_groups", ZMQ_RADIO, "DISH", groups},
                                         flood_row{"radio_by_messages", ZMQ_RADIO, "DISH",
                                                   zmtp::frame("x")}),
                       ::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp))),
    [](const auto& info) { return name_of_row(std::get<0>(info.param), std::get<1>(info.param)); });

TEST(Flood, within_the_process_keeps_no_publisher_from_returning)
{
    test_context context;
    test_socket publisher(context, ZMQ_PUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(transport::inproc));
    test_socket subscriber(context, ZMQ_XSUB);
    subscriber.connect(address);
    const repeater hostile([&subscriber] {
        for (int i = 0; i < 100; ++i)
            zmq_send(subscriber, "\1topic", 6, ZMQ_DONTWAIT);
        return true;
    });
    EXPECT_LT(longest_send_ms(publisher), longest_call_ms);
}

// --- receiving ---------------------------------------------------------------------------------

class FloodedReceiver : public ::testing::TestWithParam<std::tuple<flood_row, transport>> {};

TEST_P(FloodedReceiver, returns_from_each_call_in_time)
{
    const auto& [row, kind] = GetParam();
    test_context context;
    test_socket socket(context, row.type);
    if (row.type == ZMQ_SUB)
        socket.set(ZMQ_SUBSCRIBE, "wanted");
    if (row.type == ZMQ_DISH) {
        ASSERT_EQ(0, zmq_join(socket, "wanted"));
    }
    if (row.type == ZMQ_REQ) {
        socket.set(ZMQ_REQ_CORRELATE, 1);
        socket.set(ZMQ_REQ_RELAXED, 1);
    }
    const flooder hostile = flood(socket, kind, row);
    char byte = 0;
    for (int round = 0; round < 10; ++round) {
        const stopwatch since_begin;
        if (row.type == ZMQ_REQ) {
            ASSERT_EQ(1, zmq_send(socket, "x", 1, 0));
        }
        EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(socket, &byte, 1, ZMQ_DONTWAIT)));
        socket.set(ZMQ_RCVTIMEO, 20);
        EXPECT_TRUE(fails_with(EAGAIN, zmq_recv(socket, &byte, 1, 0)));
        EXPECT_EQ(0, poll_socket(socket, ZMQ_POLLIN, std::chrono::milliseconds(20)));
        EXPECT_EQ(0, socket.events() & ZMQ_POLLIN);
        EXPECT_LT(since_begin.elapsed_ms(), longest_call_ms);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, FloodedReceiver,
    ::testing::Combine(
        ::testing::Values(
            flood_row{"sub_by_others", ZMQ_SUB, "PUB", zmtp::frame("other")},
            flood_row{"sub_by_parts", ZMQ_SUB, "PUB", parts_of(parts(5000, "other"))},
            flood_row{"rep_by_no_requests", ZMQ_REP, "DEALER", zmtp::frame("no delimiter")},
            flood_row{"rep_by_parts", ZMQ_REP, "DEALER", parts_of(parts(5000, "x"))},
            flood_row{"req_by_others", ZMQ_REQ, "REP", parts_of({"four", "", "reply"})}),
        ::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp))),
    [](const auto& info) { return name_of_row(std::get<0>(info.param), std::get<1>(info.param)); });
INSTANTIATE_TEST_SUITE_P(
    ZlinkOnlyOf, FloodedReceiver,
    ::testing::Combine(
        ::testing::Values(flood_row{"dish", ZMQ_DISH, "RADIO", parts_of({"other", "body"})},
                          flood_row{"server", ZMQ_SERVER, "CLIENT", parts_of({"two", "parts"})},
                          flood_row{"client", ZMQ_CLIENT, "SERVER", parts_of({"two", "parts"})},
                          flood_row{"gather", ZMQ_GATHER, "SCATTER", parts_of(parts(5000, "x"))},
                          flood_row{"channel", ZMQ_CHANNEL, "CHANNEL", parts_of(parts(5000, "x"))}),
        ::testing::ValuesIn(links_with(&link_traits::has_plain_zmtp))),
    [](const auto& info) { return name_of_row(std::get<0>(info.param), std::get<1>(info.param)); });

TEST(Flood, does_not_keep_signals_from_ending_a_call)
{
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, &before);
    test_context context;
    test_socket socket(context, ZMQ_SUB);
    const flood_row row{"sub", ZMQ_SUB, "PUB", zmtp::frame("")}; // comes faster than it is dropped
    socket.set(ZMQ_SUBSCRIBE, "wanted");
    const flooder hostile = flood(socket, transport::tcp, row);
    const pthread_t waiting = pthread_self();
    std::atomic<bool> returned{false};
    std::thread signalling([&] { // one of them comes while it is not about to sleep just then
        while (!returned) {
            pthread_kill(waiting, SIGUSR1);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    const stopwatch since_begin;
    char byte = 0;
    const int result = zmq_recv(socket, &byte, 1, 0);
    EXPECT_TRUE(fails_with(EINTR, result));
    EXPECT_LT(since_begin.elapsed_ms(), longest_call_ms);
    returned = true;
    signalling.join();
    sigaction(SIGUSR1, &before, nullptr);
}

// A message behind more than one call drops is still found, and what is dropped in the middle of a
// message leaves the border of the next one where it is.
TEST(Flood, what_is_wanted_is_found_behind_what_is_not)
{
    test_context context;
    test_socket socket(context, ZMQ_SUB);
    socket.set(ZMQ_SUBSCRIBE, "wanted");
    raw_peer peer(socket.bind_and_resolve(fresh_bind_address(transport::tcp)));
    zmtp::shake_hands(peer, "PUB");
    std::string bytes;
    for (const std::size_t unwanted : {0, 1, 999, 1000, 1001, 5000}) {
        for (std::size_t i = 0; i < unwanted / 2; ++i)
            bytes += zmtp::frame("other");
        // What would be wanted if it were a message of its own.
        auto last = parts(unwanted - unwanted / 2, "wanted too");
        if (!last.empty()) {
            last.front() = "other";
            bytes += parts_of(last);
        }
        bytes += parts_of({"wanted", std::to_string(unwanted)});
    }
    peer.send(bytes);
    for (const int unwanted : {0, 1, 999, 1000, 1001, 5000})
        EXPECT_EQ((parts{"wanted", std::to_string(unwanted)}), socket.recv_parts());
}

TEST(Flood, a_long_envelope_comes_back_whole)
{
    constexpr std::size_t addresses = 2500; // more than one call reads
    test_context context;
    test_socket socket(context, ZMQ_REP);
    raw_peer peer(socket.bind_and_resolve(fresh_bind_address(transport::tcp)));
    zmtp::shake_hands(peer, "DEALER");
    auto message = parts(addresses, "address");
    message.insert(message.end(), {"", "request"});
    peer.send(parts_of(message));
    EXPECT_EQ("request", socket.recv());
    socket.send("reply");
    message.back() = "reply";
    const std::string reply = parts_of(message);
    EXPECT_EQ(reply, peer.recv(reply.size()));
}

// However many there are, and also the rest of one that was begun to be read.
TEST(Flood, late_replies_are_not_taken_for_those_to_a_later_request)
{
    constexpr int late = 1500; // more than one call drops
    test_context context;
    auto [server, client, address] = link(context, transport::inproc, ZMQ_ROUTER, ZMQ_REQ);
    client.set(ZMQ_REQ_RELAXED, 1);
    client.send("first");
    const std::string id = server.recv_parts().front();
    for (int reply = 0; reply < late; ++reply)
        server.send_parts({id, "", "late", "still late"});
    EXPECT_EQ("late", client.recv());
    client.send("second");
    server.recv_parts();
    server.send_parts({id, "", "answer"});
    EXPECT_EQ((parts{"answer"}), client.recv_parts());
}

TEST(Flood, long_messages_of_subscribers_are_passed_up_whole)
{
    constexpr std::size_t count = 20'000; // parts: more than one call reads
    test_context context;
    test_socket publisher(context, ZMQ_XPUB);
    const std::string address = publisher.bind_and_resolve(fresh_bind_address(transport::tcp));
    std::vector<raw_peer> peers;
    for (int i = 0; i < 2; ++i) {
        peers.emplace_back(address);
        zmtp::shake_hands(peers.back(), "XSUB");
    }
    const parts messages[] = {parts(count, "a"), parts(count, "b")};
    std::thread sending([&] { peers[0].send(parts_of(messages[0])); });
    peers[1].send(parts_of(messages[1]));
    sending.join();
    const parts first = publisher.recv_parts();
    const parts second = publisher.recv_parts();
    EXPECT_EQ(messages[first.front() == "a" ? 0 : 1], first);
    EXPECT_EQ(messages[first.front() == "a" ? 1 : 0], second);
}

TEST(Flood, of_commands_leaves_a_proxy_time_for_messages)
{
    test_context context;
    test_socket front(context, ZMQ_PULL);
    test_socket back(context, ZMQ_PUSH);
    test_socket control(context, ZMQ_PAIR);
    test_socket sender(context, ZMQ_PUSH);
    test_socket receiver(context, ZMQ_PULL);
    test_socket commander(context, ZMQ_PAIR);
    control.set(ZMQ_RCVHWM, 0);
    commander.set(ZMQ_SNDTIMEO, 100);
    sender.connect(front.bind_and_resolve(fresh_bind_address(transport::inproc)));
    receiver.connect(back.bind_and_resolve(fresh_bind_address(transport::inproc)));
    commander.connect(control.bind_and_resolve(fresh_bind_address(transport::inproc)));
    for (int i = 0; i < 500'000; ++i) // far more than are obeyed in the time of a few messages
        commander.send("RESUME");
    commander.send("STATISTICS");
    sender.send("message");
    std::thread running([&] { zmq_proxy_steerable(front, back, nullptr, control); });
    EXPECT_EQ("message", receiver.recv());
    const parts statistics = commander.recv_parts();
    EXPECT_NE(std::string(sizeof(std::uint64_t), '\0'), statistics.front())
        << "all commands came first: none has been received from the front when the last is obeyed";
    commander.send("TERMINATE");
    running.join();
}

TEST(Flood, subscriptions_wait_no_longer_than_a_few_calls)
{
    constexpr int topics = 20'000; // more than one call reads
    test_context context;
    test_socket publisher(context, ZMQ_PUB);
    raw_peer peer(publisher.bind_and_resolve(fresh_bind_address(transport::tcp)));
    zmtp::shake_hands(peer, "SUB");
    std::string bytes;
    for (int topic = 0; topic < topics; ++topic)
        bytes += zmtp::command("SUBSCRIBE", "topic " + std::to_string(topic));
    peer.send(bytes + zmtp::command("SUBSCRIBE", "last"));
    EXPECT_TRUE(wait_until([&] {
        publisher.send("last");
        return !peer.recv_at_most(1, std::chrono::milliseconds(1)).empty();
    }));
}

// --- the others --------------------------------------------------------------------------------

// Far from what a machine can carry, even if it is busy and the code instrumented. zlink_flood
// measures how much is kept of a rate that is worth the name.
const int rate = is_sanitized() ? 500 : 2'000;

TEST(Flood, leaves_a_publisher_time_for_the_others)
{
    EXPECT_GE(steady_rate_of_publisher(ZMQ_PUB, rate), 0.9 * rate);
}

TEST(Flood, leaves_an_xpub_time_for_the_others)
{
    EXPECT_GE(steady_rate_of_publisher(ZMQ_XPUB, rate), 0.9 * rate);
}

TEST(ZlinkOnlyFlood, leaves_a_radio_time_for_the_others)
{
    EXPECT_GE(steady_rate_of_publisher(ZMQ_RADIO, rate), 0.9 * rate);
}

TEST(Flood, leaves_a_subscriber_time_for_the_others)
{
    EXPECT_GE(steady_rate_of_subscriber(rate), 0.9 * rate);
}

} // namespace
} // namespace zlink::test
