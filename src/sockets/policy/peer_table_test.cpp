// SPDX-License-Identifier: Apache-2.0
#include "sockets/policy/peer_table.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/colliding_names.hpp"
#include "support/cpu_time.hpp"

namespace zlink::test {
namespace {

std::chrono::microseconds cost_of(const std::vector<std::string>& names)
{
    core::pipe_end pipe(std::make_shared<core::channel_pair>(), true, nullptr);
    sockets::peer_table table;
    const auto at_begin = cpu_time();
    for (const std::string& name : names) {
        EXPECT_FALSE(table.contains(name));
        table.add(pipe, name);
    }
    for (const std::string& name : names)
        EXPECT_TRUE(table.contains(name));
    return cpu_time() - at_begin;
}

// Peers choose their routing ids.
TEST(peer_table, takes_ids_with_the_same_common_hash_like_any_others)
{
    const auto colliding = colliding_names(13);
    if (colliding.empty())
        GTEST_SKIP() << "this library hashes otherwise";
    std::vector<std::string> others;
    for (std::size_t i = 0; i < colliding.size(); ++i) {
        others.push_back(std::to_string(i));
        others.back().resize(colliding.front().size(), '-');
    }
    const auto usual = cost_of(others);
    EXPECT_PRED3(costs_at_most, 4, usual, cost_of(colliding));
}

} // namespace
} // namespace zlink::test
