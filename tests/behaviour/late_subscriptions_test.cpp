// SPDX-License-Identifier: Apache-2.0
// Subscribing while a connection is being made: each topic and group is told of, once.

#include "support/draft.hpp"
#include "support/zmtp.hpp"

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

/// A way to want something, and how a peer hears of it.
struct wish {
    const char* name;
    int type;
    const char* peer;
    const char* command;
    std::function<void(test_socket&, const std::string&)> make;
};

void PrintTo(const wish& shown, std::ostream* out)
{
    *out << shown.name;
}

class LateSubscriptions : public ::testing::TestWithParam<wish> {};

TEST_P(LateSubscriptions, are_told_while_a_connection_is_made)
{
    const wish& how = GetParam();
    test_context context;
    test_socket socket(context, how.type);
    const std::string address = socket.bind_and_resolve("tcp://127.0.0.1:*");
    // To tell a new peer of so many takes a while, in which the next one is made.
    int made = 0;
    while (made < 20'000)
        how.make(socket, std::to_string(made++));

    std::vector<std::string> told;
    std::atomic<bool> begun{false};
    std::thread publisher([&] {
        const std::string command = static_cast<char>(std::char_traits<char>::length(how.command)) +
                                    std::string(how.command);
        raw_peer peer(address);
        zmtp::shake_hands(peer, how.peer);
        while (told.empty() || told.back() != "end") {
            const std::string frame = zmtp::recv_frame(peer);
            told.push_back(frame.substr(frame.find(command) + command.size()));
            begun = true;
        }
    });
    while (!begun)
        how.make(socket, std::to_string(made++));
    how.make(socket, "end");
    publisher.join();

    std::vector<int> times(static_cast<std::size_t>(made), 0);
    told.pop_back();
    for (const std::string& argument : told)
        ++times.at(std::stoul(argument));
    for (std::size_t number = 0; number < times.size(); ++number)
        ASSERT_EQ(1, times[number]) << number << " of " << made;
}

INSTANTIATE_TEST_SUITE_P(Types, LateSubscriptions,
                         ::testing::Values(wish{"sub", ZMQ_SUB, "XPUB", "SUBSCRIBE",
                                                [](test_socket& socket, const std::string& topic) {
                                                    socket.set(ZMQ_SUBSCRIBE, topic);
                                                }},
                                           wish{"xsub", ZMQ_XSUB, "XPUB", "SUBSCRIBE",
                                                [](test_socket& socket, const std::string& topic) {
                                                    socket.send('\1' + topic);
                                                }},
                                           wish{"dish", ZMQ_DISH, "RADIO", "JOIN",
                                                [](test_socket& socket, const std::string& group) {
                                                    ASSERT_EQ(0, zmq_join(socket, group.c_str()));
                                                }}),
                         [](const auto& chosen) { return chosen.param.name; });

} // namespace
} // namespace zlink::test
