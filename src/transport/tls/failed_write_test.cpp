// SPDX-License-Identifier: Apache-2.0
// A write that failed, even if the stream below fails only once, is the last one.
#include "support/scarce_memory.hpp"
#include "transport/tls/joined_for_tests.hpp"

#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <string>

namespace zlink::transport::tls_parts {
namespace {

io_result write(joined& pair, const std::string& plain)
{
    const iovec bytes{const_cast<char*>(plain.data()), plain.size()};
    return pair.stream->write_some(&bytes, 1);
}

/// All that the peer can decrypt of what was written.
std::string decrypted(joined& pair)
{
    pair.peer.feed(pair.below->written);
    std::string all;
    std::array<char, 1000> some{};
    for (int got = 0; (got = SSL_read(pair.peer.ssl(), some.data(), int(some.size()))) > 0;)
        all.append(some.data(), std::size_t(got));
    return all;
}

void expect_no_more_output(joined& pair, const std::string& before, int error = EPIPE)
{
    const std::size_t bytes = pair.below->written.size();
    pair.below->held = 0;
    EXPECT_EQ(error, write(pair, "again").error);
    EXPECT_EQ(error, pair.stream->flush().error);
    EXPECT_EQ(0U, pair.stream->undelivered_bytes());
    pair.stream->shutdown();
    EXPECT_EQ(bytes, pair.below->written.size());
    EXPECT_EQ(before, decrypted(pair));
    EXPECT_EQ(0, SSL_get_shutdown(pair.peer.ssl())); // it was not told that this is the end
}

TEST(tls_failed_write, is_the_last_one)
{
    joined pair;
    EXPECT_EQ(5U, write(pair, "first").bytes);
    pair.below->fail_at = pair.below->operations;
    pair.below->fails_once = true;
    pair.below->error = EPIPE;
    EXPECT_EQ(EPIPE, write(pair, std::string(100'000, 'x')).error);
    expect_no_more_output(pair, "first");
}

TEST(tls_failed_write, of_what_was_taken_before_is_told_by_flush)
{
    joined pair;
    EXPECT_EQ(5U, write(pair, "first").bytes);
    pair.below->room = 30'000;
    const io_result cut = write(pair, std::string(100'000, 'x'));
    EXPECT_EQ(100'000U, cut.bytes);
    EXPECT_TRUE(cut.more);
    pair.below->room = SIZE_MAX;
    pair.below->fail_at = pair.below->operations;
    pair.below->fails_once = true;
    pair.below->error = EPIPE;
    EXPECT_EQ(EPIPE, pair.stream->flush().error);
    expect_no_more_output(pair, "first" + std::string(16 * 1024, 'x')); // one whole record had gone
}

TEST(tls_failed_write, leaves_what_has_arrived_to_be_read)
{
    joined pair;
    pair.peer.write("arrived");
    pair.deliver();
    pair.below->fail_at = pair.below->operations;
    pair.below->fails_once = true;
    pair.below->error = EPIPE;
    EXPECT_EQ(EPIPE, write(pair, "x").error);
    EXPECT_EQ(7U, pair.read().bytes);
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST(tls_failed_write, for_lack_of_memory_is_the_last_one)
{
    const std::string large(100'000, 'x');
    bool refused = true;
    for (long allocations = 0; refused; ++allocations) {
        joined pair;
        EXPECT_EQ(5U, write(pair, "first").bytes);
        pair.below->written.reserve(1'000'000); // the stream of the test needs no more
        pair.below->writes.reserve(100);
        io_result got;
        {
            const test::memory_but_once scarce(allocations);
            got = write(pair, large);
            refused = scarce.was_refused();
        }
        if (got.error == 0)
            continue;
        ASSERT_TRUE(got.error == EPIPE || got.error == ENOMEM) << got.error;
        ASSERT_NO_FATAL_FAILURE(expect_no_more_output(pair, "first", got.error));
    }
}
#endif

} // namespace
} // namespace zlink::transport::tls_parts
