// SPDX-License-Identifier: Apache-2.0
// What a peer sends costs the socket about as much again for each further byte, whatever it is.
#include "support/colliding_names.hpp"
#include "support/cpu_time.hpp"
#include "support/draft.hpp"
#include "support/flooder.hpp"
#include "support/sanitizers.hpp"
#include "support/zmtp.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <poll.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace zlink::test {
namespace {

// What grows with the square of the amount costs 64 times as much for this many times the amount.
// What does not costs some more than that, too, when it does not fit the caches any more.
constexpr int larger_by = 8;
constexpr double at_most_times = 32;

class HostileCosts : public transport_test {
protected:
    raw_peer join(test_socket& socket, const std::string& type)
    {
        raw_peer peer(socket.bind_and_resolve(fresh_bind_address(GetParam())));
        zmtp::shake_hands(peer, type);
        return peer;
    }

    // What it costs a RADIO to take what a peer sends.
    std::chrono::microseconds cost_of(const std::string& commands)
    {
        test_context context;
        test_socket radio(context, ZMQ_RADIO);
        const raw_peer peer = join(radio, "DISH");
        const auto at_begin = cpu_time();
        std::thread sending([&] { peer.send(commands + zmtp::command("JOIN", "end")); });
        EXPECT_TRUE(wait_until(
            [&] {
                send_in(radio, "end", "x");
                return has_input(peer);
            },
            2 * patience));
        sending.join();
        return cpu_time() - at_begin;
    }

    static bool has_input(const raw_peer& peer)
    {
        pollfd entry{peer.fd(), POLLIN, 0};
        return ::poll(&entry, 1, 5) == 1;
    }
};
ZLINK_LINKS_WITH(HostileCosts, has_plain_zmtp);

TEST_P(HostileCosts, subscriptions_between_the_parts_of_a_message)
{
    constexpr int most = 30'000;
    const auto cost = [this](int count) {
        test_context context;
        test_socket publisher(context, ZMQ_XPUB);
        const raw_peer peer = join(publisher, "SUB");
        std::string bytes = zmtp::frame("begin", zmtp::more);
        for (int i = 0; i < count; ++i)
            bytes += zmtp::frame("", zmtp::more) + zmtp::command("SUBSCRIBE", std::to_string(i));
        bytes += zmtp::frame("end");
        const auto at_begin = cpu_time();
        std::thread sending([&] { peer.send(bytes); });
        for (int i = 0; i < count; ++i)
            EXPECT_EQ('\1' + std::to_string(i), publisher.recv());
        const parts message = publisher.recv_parts();
        const auto used = cpu_time() - at_begin;
        sending.join();
        EXPECT_EQ(std::size_t(count) + 2, message.size());
        EXPECT_EQ("begin", message.front());
        EXPECT_EQ("end", message.back());
        return used;
    };
    const auto fewer = cost(most / larger_by);
    EXPECT_PRED3(costs_at_most, at_most_times, fewer, cost(most));
}

TEST_P(HostileCosts, leaving_many_groups)
{
    const int most = is_sanitized() ? 20'000 : 100'000;
    const auto cost = [this](int count) {
        std::string commands;
        for (int i = 0; i < count; ++i)
            commands += zmtp::command("JOIN", std::to_string(i));
        for (int i = 0; i < count; ++i) // those from the middle are far from both ends
            commands += zmtp::command("LEAVE", std::to_string((i + count / 2) % count));
        return cost_of(commands);
    };
    const auto fewer = cost(most / larger_by);
    EXPECT_PRED3(costs_at_most, at_most_times, fewer, cost(most));
}

using group_message = std::pair<std::string, std::string>;

// The group and the body, both as frames.
group_message next_message(const raw_peer& peer)
{
    std::string group = zmtp::recv_frame(peer);
    return {std::move(group), zmtp::recv_frame(peer)};
}

TEST_P(HostileCosts, members_of_a_group_stay_while_others_come_and_go)
{
    test_context context;
    test_socket radio(context, ZMQ_RADIO);
    const std::string address = radio.bind_and_resolve(fresh_bind_address(GetParam()));
    const std::string join_a = zmtp::command("JOIN", "a");
    const std::string leave_a = zmtp::command("LEAVE", "a");
    std::vector<raw_peer> peers;
    for (const std::string& changes :
         {join_a, join_a + leave_a + leave_a, join_a + join_a, join_a + leave_a + join_a, join_a}) {
        peers.emplace_back(address);
        zmtp::shake_hands(peers.back(), "DISH");
        peers.back().send(changes + zmtp::command("JOIN", "b") + zmtp::command("JOIN", "ready"));
    }
    for (const raw_peer& peer : peers)
        ASSERT_TRUE(wait_until([&] {
            send_in(radio, "ready", "x");
            return has_input(peer);
        }));
    peers.front().close(); // in front of the others
    for (int round = 0; round < 100; ++round)
        peers[1].send(join_a + leave_a);
    peers[1].send(zmtp::command("JOIN", "done"));
    ASSERT_TRUE(wait_until([&] {
        send_in(radio, "done", "x");
        return has_input(peers[1]) &&
               next_message(peers[1]).first == zmtp::frame("done", zmtp::more);
    }));
    send_in(radio, "a", "to a");
    send_in(radio, "b", "to b");
    const group_message to_a{zmtp::frame("a", zmtp::more), zmtp::frame("to a")};
    const group_message to_b{zmtp::frame("b", zmtp::more), zmtp::frame("to b")};
    for (std::size_t i = 1; i < peers.size(); ++i) {
        group_message heard;
        do
            heard = next_message(peers[i]);
        while (heard.second == zmtp::frame("x"));
        EXPECT_EQ(i == 1 ? to_b : to_a, heard) << i;
        if (i != 1) {
            EXPECT_EQ(to_b, next_message(peers[i])) << i;
        }
    }
}

TEST_P(HostileCosts, groups_whose_names_have_the_same_common_hash)
{
    constexpr int bits = 13;
    const auto colliding = colliding_names(bits);
    if (colliding.empty())
        GTEST_SKIP() << "this library hashes otherwise";
    std::vector<std::string> others;
    for (std::size_t i = 0; i < colliding.size(); ++i) {
        others.push_back(std::to_string(i));
        others.back().resize(colliding.front().size(), '-');
    }
    const auto cost = [this](const std::vector<std::string>& names) {
        const int rounds = is_sanitized() ? 2 : 6;
        std::string commands;
        for (int round = 0; round < rounds; ++round) // each looks for a name again
            for (const std::string& name : names)
                commands += zmtp::command("JOIN", name);
        return cost_of(commands);
    };
    const auto usual = cost(others);
    EXPECT_PRED3(costs_at_most, 4, usual, cost(colliding));
}

// A message can be asked for the properties of its peer, which chooses how many it has.
TEST_P(HostileCosts, properties)
{
    constexpr int first = 1000;
    constexpr int most = 3500;
    const int questions = is_sanitized() ? 5'000 : 40'000;
    const auto cost = [this, questions](int count) {
        test_context context;
        test_socket socket(context, ZMQ_PULL);
        raw_peer peer(socket.bind_and_resolve(fresh_bind_address(GetParam())));
        std::string properties;
        for (int i = first; i < first + count; ++i)
            properties += zmtp::property("X-" + std::to_string(i), std::to_string(i));
        zmtp::shake_hands(peer, "PUSH", 1,
                          properties + zmtp::property("X-1007", "not the first of its name"));
        peer.send(zmtp::frame("message"));
        zmq_msg_t message;
        zmq_msg_init(&message);
        EXPECT_EQ(7, zmq_msg_recv(&message, socket, 0));
        const auto at_begin = cpu_time();
        for (int i = 0; i < questions; ++i)
            EXPECT_EQ(nullptr, zmq_msg_gets(&message, "X-none"));
        const auto used = cpu_time() - at_begin;
        const std::string last = std::to_string(first + count - 1);
        EXPECT_STREQ("1007", zmq_msg_gets(&message, "X-1007"));
        EXPECT_STREQ(last.c_str(), zmq_msg_gets(&message, ("X-" + last).c_str()));
        EXPECT_STREQ("PUSH", zmq_msg_gets(&message, "Socket-Type"));
        zmq_msg_close(&message);
        return used;
    };
    const auto fewer = cost(most / larger_by);
    EXPECT_PRED3(costs_at_most, larger_by / 2, fewer, cost(most));
}

} // namespace
} // namespace zlink::test
