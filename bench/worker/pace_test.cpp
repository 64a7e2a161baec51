// SPDX-License-Identifier: Apache-2.0
#include "worker/pace.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace zlink::bench::worker {
namespace {

/// A thousand messages per second, and a clock that is set by hand.
class pacing : public testing::Test {
protected:
    void SetUp() override { paced.start(); }

    static constexpr std::int64_t ms = 1'000'000;
    std::int64_t now = 5 * ms;
    pace paced{1000, [this] { return now; }};
};

TEST_F(pacing, makes_messages_due_at_equal_intervals)
{
    EXPECT_EQ(paced.take_due(), 5 * ms);
    EXPECT_EQ(paced.take_due(), std::nullopt);
    EXPECT_EQ(paced.next_due_ns(), 6 * ms);
    now = 6 * ms;
    EXPECT_EQ(paced.take_due(), 6 * ms);
}

TEST_F(pacing, counts_from_the_due_time_what_was_held_up)
{
    EXPECT_EQ(paced.take_due(), 5 * ms);
    now = 8 * ms; // sending took that long
    EXPECT_EQ(paced.take_due(), 6 * ms);
    EXPECT_EQ(paced.take_due(), 7 * ms);
    EXPECT_EQ(paced.take_due(), 8 * ms);
    EXPECT_EQ(paced.take_due(), std::nullopt);
}

TEST_F(pacing, does_not_blame_the_library_for_waking_late)
{
    EXPECT_EQ(paced.take_due(), 5 * ms);
    EXPECT_EQ(paced.take_due(), std::nullopt);
    now = 7 * ms + ms / 2;
    paced.slept();
    EXPECT_EQ(paced.take_due(), 7 * ms + ms / 2); // due at 6
    EXPECT_EQ(paced.take_due(), 7 * ms + ms / 2); // due at 7
    EXPECT_EQ(paced.take_due(), std::nullopt);
    now = 9 * ms; // held up again
    EXPECT_EQ(paced.take_due(), 8 * ms);
}

TEST_F(pacing, starts_later_by_a_share_of_the_interval)
{
    paced.start(0.25);
    EXPECT_EQ(paced.take_due(), std::nullopt);
    EXPECT_EQ(paced.next_due_ns(), 5 * ms + ms / 4);
}

} // namespace
} // namespace zlink::bench::worker
