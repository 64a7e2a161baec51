// SPDX-License-Identifier: Apache-2.0
#include "base/pace/trial_interval.hpp"

#include <gtest/gtest.h>

namespace zlink::base {
namespace {

TEST(TrialInterval, doubles_up_to_the_longest_and_begins_anew)
{
    trial_interval<3, 20> interval;
    EXPECT_EQ(interval.length(), 3u);
    for (const unsigned expected : {6u, 12u, 20u, 20u}) {
        EXPECT_EQ(interval.lengthen(), expected);
        EXPECT_EQ(interval.length(), expected);
    }
    EXPECT_EQ(interval.reset(), 3u);
    EXPECT_EQ(interval.length(), 3u);
    EXPECT_EQ(interval.lengthen(), 6u);
}

} // namespace
} // namespace zlink::base
