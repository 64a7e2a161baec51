// SPDX-License-Identifier: Apache-2.0
#include "core/pace/lone_messages.hpp"

#include <gtest/gtest.h>

namespace zlink::core {
namespace {

int take_all(lone_messages& of)
{
    int count = 0;
    while (of.take())
        ++count;
    return count;
}

// What a busy thread sends to a connection now and then gains nothing by waiting.
TEST(lone_messages, are_more_each_time_that_nothing_joins_a_batch)
{
    lone_messages of;
    EXPECT_EQ(0, take_all(of));
    of.batch_was_due(1);
    const int first = take_all(of);
    EXPECT_EQ(16, first);
    of.batch_was_due(1);
    EXPECT_EQ(2 * first, take_all(of));
    of.batch_was_due(2);
    EXPECT_EQ(0, take_all(of)) << "batches move more of them";
    of.batch_was_due(1);
    EXPECT_EQ(first, take_all(of));
    for (int i = 0; i < 20; ++i)
        of.batch_was_due(1);
    EXPECT_EQ(1024, take_all(of)) << "at last";
}

} // namespace
} // namespace zlink::core
