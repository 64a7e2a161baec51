// SPDX-License-Identifier: Apache-2.0
#include "engine/codec/chacha.hpp"

#include <gtest/gtest.h>

namespace zlink::test {
namespace {

namespace chacha = engine::chacha;

chacha::key counted_key()
{
    chacha::key key{};
    for (std::uint32_t i = 0; i < key.size(); ++i)
        key[i] = 0x03020100 + i * 0x04040404;
    return key;
}

// RFC 8439, section 2.3.2.
TEST(chacha, makes_the_block_of_the_standard)
{
    constexpr std::array<std::uint32_t, chacha::block_words> expected{
        0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033,
        0x9aaa2204, 0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
        0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
    chacha::blocks made;
    chacha::make_blocks(made, counted_key(), 1, {0x09000000, 0x4a000000, 0}, 20);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(made[i][0], expected[i]) << i;
}

TEST(chacha, makes_the_blocks_that_follow_in_the_same_call)
{
    chacha::blocks together;
    chacha::make_blocks(together, counted_key(), 7, {1, 2, 3}, 12);
    for (std::uint32_t j = 0; j < chacha::blocks_at_once; ++j) {
        chacha::blocks one;
        chacha::make_blocks(one, counted_key(), 7 + j, {1, 2, 3}, 12);
        for (std::size_t i = 0; i < one.size(); ++i)
            EXPECT_EQ(together[i][j], one[i][0]) << i << ' ' << j;
    }
}

} // namespace
} // namespace zlink::test
