// SPDX-License-Identifier: Apache-2.0
#include "base/memory/give_back.hpp"

#include <gtest/gtest.h>

namespace zlink::test {
namespace {

TEST(give_back, leaves_no_memory)
{
    std::vector<int> memory(1000);
    base::give_back(memory);
    EXPECT_TRUE(memory.empty());
    EXPECT_EQ(memory.capacity(), 0u);
}

} // namespace
} // namespace zlink::test
