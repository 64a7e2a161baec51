// SPDX-License-Identifier: Apache-2.0
// zlink_flush: what a thread has sent that never waits in the library.
#include "support/fixture.hpp"
#include "support/sanitizers.hpp"

#include <zlink.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace zlink::test {
namespace {

/// One of the library's counters, see core/pipe/traffic_counts.cpp.
long count_of(void* socket, const std::string& name)
{
    constexpr int traffic_counts_option = 0x5a4c0001;
    std::array<char, 1024> text{};
    std::size_t size = text.size();
    if (zmq_getsockopt(socket, traffic_counts_option, text.data(), &size) != 0)
        throw call_failed("zmq_getsockopt");
    const std::string all = " " + std::string(text.data());
    const std::size_t at = all.find(" " + name + "=");
    if (at == std::string::npos)
        throw std::runtime_error("there is no counter " + name);
    return std::stol(all.substr(at + name.size() + 2));
}

TEST(FlushAlone, has_nothing_to_do_without_messages)
{
    EXPECT_EQ(0, zlink_flush());
    const test_context context;
    EXPECT_EQ(0, zlink_flush());
}

class Flush : public transport_test {};

// Without it the batches of this thread, which makes no call that waits, are written when they are
// due or by their guard, and none is ended.
TEST_P(Flush, writes_the_batches_of_a_thread)
{
    const configuration unlimited = [](test_socket& socket) {
        socket.set(ZMQ_SNDHWM, 0);
        socket.set(ZMQ_RCVHWM, 0);
    };
    auto [bound, peer, address] =
        connect_pair(context_, GetParam(), ZMQ_PULL, ZMQ_PUSH, unlimited, unlimited);
    std::atomic<int> received{0};
    std::atomic<int> expected{-1};
    std::thread reader([&, &socket = bound] {
        while (expected < 0 || received < expected) {
            const auto message = socket.try_recv_parts();
            received += message ? 1 : 0;
        }
    });
    int sent = 0;
    // Instrumented code may be too slow to be batched for.
    const long before = count_of(peer, "ended_batches");
    const auto has_flushed = [&, &socket = peer] {
        for (int i = 0; i < 100; ++i, ++sent)
            zmq_send(socket, "x", 1, 0);
        EXPECT_EQ(0, zlink_flush());
        return count_of(socket, "ended_batches") > before || (is_sanitized() && sent >= 10'000);
    };
    EXPECT_TRUE(wait_until(has_flushed));
    // All of it arrives while this thread makes no call.
    expected = sent;
    reader.join();
    EXPECT_EQ(sent, received);
}

ZLINK_WIRE_TRANSPORTS(Flush);

} // namespace
} // namespace zlink::test
