// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/body_route.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace zlink::core {
namespace {

constexpr std::size_t kib = 1024;

struct range {
    body_route route;
    std::size_t end_bytes; ///< the first size that goes another way
};
constexpr std::size_t any = std::numeric_limits<std::size_t>::max();

struct row {
    const char* what;
    body_facts facts;
    std::vector<range> ranges; ///< from 0 bytes on
};

using enum body_route;

const std::vector<row> rows{
    {"the caller's memory, no connection", {}, {{copied, 8 * kib}, {own_block, any}}},
    {"the caller's, one part of several",
     {.is_inproc = true},
     {{copied, 8 * kib}, {own_block, any}}},
    {"the caller's, to a connection", {.may_be_direct = true}, {{copied, 8 * kib}, {direct, any}}},
    {"the caller's, to a connection this thread batches for",
     {.may_be_direct = true, .is_batched = true},
     {{copied, 8 * kib}, {own_block, 32 * kib}, {direct, any}}},
    {"the caller's, to a connection that is gone",
     {.may_be_direct = true, .is_stalled = true},
     {{copied, 8 * kib}, {direct, any}}},
    {"the caller's, to a near reader",
     {.is_inproc = true, .may_lend = true},
     {{copied, 8 * kib}, {own_block, 32 * kib}, {lent, any}}},
    {"shared", {.is_shared = true}, {{copied, 4 * kib}, {referred, any}}},
    {"shared, to a connection",
     {.is_shared = true, .may_be_direct = true},
     {{copied, 4 * kib}, {referred, any}}},
    {"shared, within the process",
     {.is_shared = true, .is_inproc = true},
     {{copied, 4 * kib}, {referred, any}}},
    {"shared, without a connection",
     {.is_shared = true, .is_stalled = true},
     {{copied, 4 * kib}, {referred, any}}},
    {"the application's",
     {.is_shared = true, .is_users = true, .may_be_direct = true},
     {{copied, 4 * kib}, {referred, any}}},
    {"the application's, within the process",
     {.is_shared = true, .is_users = true, .is_inproc = true},
     {{copied, 1 * kib}, {referred, any}}},
    {"the application's, without a connection",
     {.is_shared = true, .is_users = true, .is_stalled = true},
     {{copied, 1}, {referred, any}}},
};

TEST(BodyRoute, changes_only_at_the_sizes_of_the_table)
{
    for (const row& each : rows) {
        std::size_t begin_bytes = 0;
        for (const auto& [route, end_bytes] : each.ranges) {
            EXPECT_EQ(route, route_of_body(begin_bytes, each.facts))
                << each.what << ", " << begin_bytes;
            EXPECT_EQ(route, route_of_body(end_bytes - 1, each.facts))
                << each.what << ", " << end_bytes - 1;
            begin_bytes = end_bytes;
        }
    }
}

} // namespace
} // namespace zlink::core
