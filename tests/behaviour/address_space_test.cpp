// SPDX-License-Identifier: Apache-2.0
// Processes that may have little more address space than they use (RLIMIT_AS, as by `ulimit -v`).
#define ZMQ_BUILD_DRAFT_API 1
#include "support/draft.hpp"
#include "support/sanitizers.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace zlink::test {
namespace {

rlim_t address_space_in_use_bytes()
{
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void leave_address_space(rlim_t left_bytes)
{
    rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space_in_use_bytes() + left_bytes;
    if (::setrlimit(RLIMIT_AS, &limit) != 0)
        throw std::runtime_error("setrlimit");
}

/// Some tens of sockets over all transports, which exchange small and large messages.
void exchange()
{
    constexpr int pairs_of_each = 10;
    const std::string large(100'000, 'x');
    test_context context;
    std::vector<connected_pair> pairs;
    for (const transport kind : {transport::tcp, transport::ipc, transport::inproc})
        for (int i = 0; i < pairs_of_each; ++i)
            pairs.push_back(link(context, kind, ZMQ_DEALER, ZMQ_DEALER));
    for (connected_pair& each : pairs) {
        each.peer.send("question");
        each.peer.send(large);
    }
    for (connected_pair& each : pairs) {
        if (each.bound.recv() != "question" || each.bound.recv() != large)
            throw std::runtime_error("another message");
        each.bound.send("answer");
        if (each.peer.recv() != "answer")
            throw std::runtime_error("another answer");
    }
    test_socket server(context, ZMQ_SERVER);
    test_socket client(context, ZMQ_CLIENT);
    client.connect(server.bind_and_resolve("tcp://127.0.0.1:*"));
    client.send("thread-safe");
    if (server.recv() != "thread-safe")
        throw std::runtime_error("another message");
}

/// In a process of its own, which has used nothing of the library before.
[[noreturn]] void exchange_and_exit()
{
    try {
        constexpr rlim_t left_bytes = 40u << 20;
        leave_address_space(left_bytes);
        exchange();
    } catch (const std::exception& failure) {
        std::cerr << failure.what() << '\n';
        std::exit(1);
    }
    std::exit(0);
}

TEST(LittleAddressSpace, is_enough_for_tens_of_sockets)
{
    if (is_sanitized())
        GTEST_SKIP() << "sanitizers reserve most of the address space for themselves";
    GTEST_FLAG_SET(death_test_style, "threadsafe"); // which starts the program anew
    EXPECT_EXIT(exchange_and_exit(), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace zlink::test
