// SPDX-License-Identifier: Apache-2.0
#include "base/pace/write_retry.hpp"

#include <gtest/gtest.h>
#include <utility>

namespace zlink::base {
namespace {

using step = write_retry::step;

TEST(WriteRetry, ends_when_all_is_done)
{
    write_retry subject;
    for (int stall = 0; stall < 100; ++stall) {
        int attempts = 0;
        EXPECT_TRUE(subject.wait([&] { return ++attempts == 3 ? step::done : step::nothing; }));
        EXPECT_EQ(3, attempts);
    }
}

TEST(WriteRetry, passes_ever_more_stalls_by_where_nothing_moves)
{
    write_retry subject;
    int waits = 0;
    for (int stall = 0; stall < 1000; ++stall)
        waits += subject.wait([] { return step::nothing; });
    // Those after 2, 4, 8, 16, 32 and 64 passed ones, and then after 64 each time.
    EXPECT_EQ(20, waits);
}

TEST(WriteRetry, waits_each_time_again_where_that_helps)
{
    write_retry subject;
    while (subject.wait([] { return step::nothing; }))
        ;
    while (!subject.wait([] { return step::done; }))
        ;
    for (int stall = 0; stall < 100; ++stall)
        EXPECT_TRUE(subject.wait([] { return step::done; }));
}

TEST(WriteRetry, passes_few_stalls_by_where_something_moves)
{
    write_retry subject;
    int waits = 0;
    for (int stall = 0; stall < 100; ++stall) {
        bool moved = false;
        waits += subject.wait(
            [&] { return std::exchange(moved, true) ? step::nothing : step::progress; });
    }
    EXPECT_LE(33, waits);
}

TEST(WriteRetry, does_not_wait_for_ever_for_slow_progress)
{
    write_retry subject;
    EXPECT_TRUE(subject.wait([] { return step::progress; }));
    EXPECT_TRUE(subject.wait([] { return step::progress; })) << "it was not in vain";
}

} // namespace
} // namespace zlink::base
