// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/read_size.hpp"

#include <gtest/gtest.h>

namespace zlink::test {
namespace {

using engine::read_size;

// As a decoder does it, with all the room that it wants.
void read(read_size& size, std::size_t bytes)
{
    size.offered(size.bytes());
    size.received(bytes);
}

read_size largest()
{
    read_size size;
    while (size.bytes() < tuning::reading::max_read_bytes)
        read(size, size.bytes());
    return size;
}

void read_little(read_size& size, unsigned times)
{
    for (; times != 0; --times)
        read(size, size.bytes() / 4 - 1);
}

TEST(read_size, doubles_with_each_full_read_up_to_the_largest)
{
    read_size size;
    EXPECT_TRUE(size.is_smallest());
    EXPECT_EQ(size.bytes(), tuning::reading::min_read_bytes);
    std::size_t expected = tuning::reading::min_read_bytes;
    while (expected < tuning::reading::max_read_bytes) {
        read(size, size.bytes());
        expected *= 2;
        EXPECT_EQ(size.bytes(), expected);
    }
    read(size, size.bytes());
    EXPECT_EQ(size.bytes(), tuning::reading::max_read_bytes);
    EXPECT_FALSE(size.is_smallest());
}

TEST(read_size, doubles_when_the_room_was_less_and_was_filled)
{
    read_size size;
    size.offered(100);
    size.received(100);
    EXPECT_EQ(size.bytes(), 2 * tuning::reading::min_read_bytes);
}

TEST(read_size, halves_after_small_reads_in_a_row_down_to_the_smallest)
{
    read_size size = largest();
    for (std::size_t expected = tuning::reading::max_read_bytes;
         expected > tuning::reading::min_read_bytes;) {
        read_little(size, tuning::reading::small_reads_to_halve - 1);
        EXPECT_EQ(size.bytes(), expected);
        read_little(size, 1);
        expected /= 2;
        EXPECT_EQ(size.bytes(), expected);
    }
    read_little(size, 2 * tuning::reading::small_reads_to_halve);
    EXPECT_TRUE(size.is_smallest());
}

TEST(read_size, stays_when_larger_reads_come_between_small_ones)
{
    read_size size = largest();
    for (int i = 0; i < 8; ++i) {
        read_little(size, tuning::reading::small_reads_to_halve - 1);
        read(size, size.bytes() / 4);
        EXPECT_EQ(size.bytes(), tuning::reading::max_read_bytes);
    }
}

TEST(read_size, begins_again_with_the_smallest)
{
    read_size size = largest();
    read_little(size, tuning::reading::small_reads_to_halve - 1);
    size.restart();
    EXPECT_TRUE(size.is_smallest());
    read(size, size.bytes()); // the small reads before do not count
    read_little(size, tuning::reading::small_reads_to_halve - 1);
    EXPECT_EQ(size.bytes(), 2 * tuning::reading::min_read_bytes);
}

} // namespace
} // namespace zlink::test
