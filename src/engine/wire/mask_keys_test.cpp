// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/mask_keys.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>

namespace zlink::test {
namespace {

using engine::mask_keys;

std::uint32_t number_of(const engine::websocket::mask_key& key)
{
    std::uint32_t number = 0;
    std::memcpy(&number, key.data(), sizeof number);
    return number;
}

// Among so many random numbers of 32 bits there are 2 pairs of the same one on average; to find
// more than 40 is less likely than 10 to the power of -36.
TEST(mask_keys, are_all_different_but_for_chance)
{
    constexpr std::size_t count = 131'072;
    mask_keys keys;
    std::set<std::uint32_t> seen;
    for (std::size_t i = 0; i < count; ++i)
        seen.insert(number_of(keys.next()));
    EXPECT_GT(seen.size(), count - 40);
}

// Each bit is set half of the time, within 8 standard deviations.
TEST(mask_keys, have_each_bit_set_half_of_the_time)
{
    constexpr int count = 65'536;
    mask_keys keys;
    int set[32] = {};
    for (int i = 0; i < count; ++i) {
        const std::uint32_t number = number_of(keys.next());
        for (int bit = 0; bit < 32; ++bit)
            set[bit] += (number >> bit & 1) != 0;
    }
    for (const int times : set)
        EXPECT_NEAR(times, count / 2, 8 * 128);
}

TEST(mask_keys, of_two_begin_with_others)
{
    mask_keys one;
    mask_keys other;
    int same = 0;
    for (int i = 0; i < 1000; ++i)
        same += one.next() == other.next();
    EXPECT_LT(same, 3);
}

TEST(mask_keys, are_those_of_the_thread)
{
    mask_keys* const mine = mask_keys::of_this_thread();
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(mask_keys::of_this_thread(), mine);
    mask_keys* others = nullptr;
    std::thread([&] { others = mask_keys::of_this_thread(); }).join();
    EXPECT_NE(others, mine);
}

TEST(mask_keys, come_from_the_system_too)
{
    int same = 0;
    for (int i = 0; i < 100; ++i)
        same += mask_keys::from_system() == mask_keys::from_system();
    EXPECT_LT(same, 3);
}

} // namespace
} // namespace zlink::test
