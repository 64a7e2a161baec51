// SPDX-License-Identifier: Apache-2.0
#include "core/pace/receive_placement.hpp"

#include <gtest/gtest.h>

namespace zlink::core {
namespace {

using std::chrono::microseconds;

class ReceivePlacement : public ::testing::Test {
protected:
    // Reads of 64 KiB, each where the place says.
    int outside_of(int reads, microseconds outside, microseconds block)
    {
        int count = 0;
        for (; reads > 0; --reads) {
            const bool is_outside = placement_.outside();
            count += is_outside;
            placement_.note(is_outside, 64 * 1024, is_outside ? outside : block);
        }
        return count;
    }
    receive_placement placement_;
};

TEST_F(ReceivePlacement, begins_with_the_receivers_memory)
{
    EXPECT_TRUE(placement_.outside());
}

TEST_F(ReceivePlacement, stays_with_the_receivers_memory_where_reads_take_the_same)
{
    EXPECT_GT(outside_of(10'000, microseconds(10), microseconds(10)), 9'800);
}

TEST_F(ReceivePlacement, takes_blocks_where_reads_into_the_receivers_memory_are_slow)
{
    EXPECT_LT(outside_of(10'000, microseconds(30), microseconds(10)), 200);
}

TEST_F(ReceivePlacement, counts_the_copy_that_a_block_needs)
{
    EXPECT_GT(outside_of(10'000, microseconds(12), microseconds(10)), 9'800);
}

TEST_F(ReceivePlacement, finds_out_when_that_changes)
{
    constexpr int until_other = tuning::placement::reads_between_trials;
    outside_of(1'000, microseconds(30), microseconds(10));
    outside_of(until_other, microseconds(10), microseconds(10));
    EXPECT_TRUE(placement_.outside());
    outside_of(until_other, microseconds(30), microseconds(10));
    EXPECT_FALSE(placement_.outside());
}

TEST_F(ReceivePlacement, seldom_tries_the_slower_place)
{
    outside_of(1'000, microseconds(30), microseconds(10));
    EXPECT_LT(outside_of(10 * tuning::placement::reads_between_trials, microseconds(30),
                         microseconds(10)),
              100);
}

TEST_F(ReceivePlacement, a_read_that_was_interrupted_decides_nothing)
{
    outside_of(100, microseconds(10), microseconds(10));
    placement_.note(true, 64 * 1024, microseconds(300));
    EXPECT_TRUE(placement_.outside());
}

} // namespace
} // namespace zlink::core
