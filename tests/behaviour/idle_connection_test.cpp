// SPDX-License-Identifier: Apache-2.0
// What a connection costs that carries nothing just now.
#include "support/fixture.hpp"
#include "support/sanitizers.hpp"
#include "support/wait.hpp"

#include <algorithm>
#include <cstddef>
#include <malloc.h>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace zlink::test {
namespace {

constexpr std::size_t connections = 1000;
/// With both ends and the connecting socket.
constexpr std::size_t most_bytes_each = 10 * 1024;

/// May the process open so many descriptors more? Raises its own limit as far as it may.
bool allows_descriptors(rlim_t count)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < count)
        return false;
    limit.rlim_cur = std::max(limit.rlim_cur, count);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

std::size_t heap_bytes()
{
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST(IdleConnection, takes_little_memory)
{
    if (is_sanitized())
        GTEST_SKIP() << "sanitizers have a heap of their own";
    if (!allows_descriptors(2 * connections + 100))
        GTEST_SKIP() << "the system does not allow so many descriptors";
    test_context context;
    ASSERT_EQ(0, zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 2 * static_cast<int>(connections)));
    test_socket router(context, ZMQ_ROUTER);
    const std::string endpoint = router.bind_and_resolve(fresh_bind_address(transport::tcp));
    const auto meet = [&](test_socket& dealer, const std::string& question) {
        dealer.send(question);
        const parts received = router.recv_parts();
        ASSERT_EQ(2U, received.size());
        EXPECT_EQ(question, received[1]);
        router.send_parts({received[0], "answer"});
        EXPECT_EQ("answer", dealer.recv());
    };
    std::vector<std::unique_ptr<test_socket>> dealers;
    dealers.reserve(connections + 1);
    const auto add = [&] {
        dealers.push_back(std::make_unique<test_socket>(context, ZMQ_DEALER));
        dealers.back()->connect(endpoint);
        meet(*dealers.back(), "question");
    };
    add(); // the first one needs more
    const std::size_t before = heap_bytes();
    for (std::size_t i = 0; i < connections; ++i)
        add();
    const auto bytes_each = [&] {
        const std::size_t now = heap_bytes();
        return now > before ? (now - before) / connections : 0;
    };
    // Handshakes end a little after the first message.
    EXPECT_TRUE(wait_until([&] { return bytes_each() <= most_bytes_each; })) << bytes_each();
}

} // namespace
} // namespace zlink::test
