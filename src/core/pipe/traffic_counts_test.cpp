// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/traffic_counts.hpp"

#include <gtest/gtest.h>
#include <string>

namespace zlink::core {
namespace {

TEST(TrafficCounts, are_added_and_described_one_by_one)
{
    traffic_counts counts;
    counts.direct_writes = 2;
    counts.hand_overs = 5;
    traffic_counts more;
    more.direct_writes = 40;
    more.sleeps = 1;
    counts += more;
    const std::string text = describe(counts);
    EXPECT_EQ(0U, text.find("direct_writes=42 batch_writes=0 "));
    EXPECT_NE(std::string::npos, text.find(" sleeps=1 "));
    EXPECT_EQ(text.size() - std::string("hand_overs=5").size(), text.find("hand_overs=5"));
}

} // namespace
} // namespace zlink::core
