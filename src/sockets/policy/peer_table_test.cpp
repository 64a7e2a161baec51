// SPDX-License-Identifier: Apache-2.0
#include "sockets/policy/peer_table.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/colliding_names.hpp"
#include "support/wait.hpp"

namespace zlink::test {
namespace {

// Peers choose their routing ids.
TEST(peer_table, takes_ids_with_the_same_common_hash_like_any_others)
{
    constexpr long most_ms = 500;
    const auto names = colliding_names(13);
    if (names.empty())
        GTEST_SKIP() << "this library hashes otherwise";
    core::pipe_end pipe(std::make_shared<core::channel_pair>(), true, nullptr);
    sockets::peer_table table;
    const stopwatch since_begin;
    for (const std::string& name : names) {
        ASSERT_FALSE(table.contains(name));
        table.add(pipe, name);
    }
    for (const std::string& name : names)
        ASSERT_TRUE(table.contains(name));
    EXPECT_LT(since_begin.elapsed_ms(), most_ms);
}

} // namespace
} // namespace zlink::test
