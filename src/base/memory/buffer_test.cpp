// SPDX-License-Identifier: Apache-2.0
#include "base/memory/buffer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace zlink::base {
namespace {

TEST(Buffer, has_the_room_that_was_asked_for)
{
    for (const std::size_t bytes :
         {0, 1, 16, 17, 80, 81, 1000, 1104, 1105, 16384 - 48, 16384, 1 << 20, (1 << 20) + 1}) {
        const buffer_ref block(allocate_buffer(bytes));
        ASSERT_TRUE(block);
        EXPECT_GE(block->capacity_bytes, bytes);
        EXPECT_TRUE(block->unique());
        std::memset(block->data, 'x', block->capacity_bytes);
    }
}

TEST(Buffer, keeps_bodies_apart)
{
    for (int round = 0; round < 3; ++round) {
        std::vector<buffer_ref> blocks;
        for (int i = 0; i < 500; ++i) {
            blocks.emplace_back(allocate_buffer(static_cast<std::size_t>(1 + i * 3)));
            ASSERT_TRUE(blocks.back());
            std::memset(blocks.back()->data, i % 256, blocks.back()->capacity_bytes);
        }
        for (int i = 0; i < 500; ++i) {
            const buffer_ref& block = blocks[static_cast<std::size_t>(i)];
            const std::vector<std::byte> expected(block->capacity_bytes,
                                                  static_cast<std::byte>(i % 256));
            ASSERT_EQ(0, std::memcmp(expected.data(), block->data, block->capacity_bytes));
        }
    }
}

TEST(Buffer, may_be_freed_in_another_thread)
{
    std::vector<buffer_ref> blocks;
    for (int i = 0; i < 2000; ++i)
        blocks.emplace_back(allocate_buffer(64));
    std::thread([&blocks] {
        blocks.clear();
        for (int i = 0; i < 2000; ++i)
            blocks.emplace_back(allocate_buffer(64));
    }).join();
    blocks.clear();
}

// Blocks that the application keeps are not waited for each time, which takes long where the
// processors are busy.
TEST(Buffer, many_large_ones_are_had_soon_on_a_busy_machine)
{
    std::atomic<bool> done{false};
    std::vector<std::thread> busy;
    for (unsigned i = 0; i < 2 * std::max(2u, std::thread::hardware_concurrency()); ++i)
        busy.emplace_back([&] {
            while (!done)
                ;
        });
    const auto begin = std::chrono::steady_clock::now();
    std::vector<buffer_ref> kept;
    for (int i = 0; i < 500; ++i)
        kept.emplace_back(allocate_buffer(100'000));
    EXPECT_GT(std::chrono::seconds(4), std::chrono::steady_clock::now() - begin);
    done = true;
    for (std::thread& thread : busy)
        thread.join();
}

TEST(Buffer, rotates_once_enough_blocks_wait)
{
    constexpr std::size_t most = tuning::queue::max_rotating_bytes / tuning::queue::max_chunk_bytes;
    std::vector<buffer_ref> blocks; // first what others have left there, then new ones
    for (std::size_t i = 0; i < 2 * most; ++i) {
        blocks.emplace_back(allocate_rotating_buffer(0));
        ASSERT_TRUE(blocks.back());
        ASSERT_LE(tuning::queue::max_chunk_bytes, blocks.back()->capacity_bytes);
        std::memset(blocks.back()->data, 'x', blocks.back()->capacity_bytes);
    }
    std::vector<const buffer*> waiting;
    for (std::size_t i = 0; i < most; ++i) {
        waiting.push_back(blocks[i].get());
        blocks[i].reset();
    }
    for (const buffer* const longest : waiting) {
        const buffer_ref block(allocate_rotating_buffer(tuning::queue::max_rotating_bytes));
        EXPECT_EQ(longest, block.get());
        EXPECT_TRUE(block->unique());
    }
    const buffer_ref taken(allocate_rotating_buffer(tuning::queue::max_rotating_bytes));
    EXPECT_EQ(waiting.front(), taken.get());
    const buffer_ref made(allocate_rotating_buffer(tuning::queue::max_rotating_bytes));
    EXPECT_EQ(waiting.end(), std::find(waiting.begin(), waiting.end(), made.get()));
}

TEST(Buffer, is_certain_of_memory_that_lies_ready)
{
    const std::size_t certain = certain_bytes();
    EXPECT_LE(std::size_t{1024}, certain);
    EXPECT_EQ(certain, certain_bytes());
    const buffer_ref block(allocate_buffer(certain));
    ASSERT_TRUE(block);
    EXPECT_GE(block->capacity_bytes, certain);
}

TEST(Buffer, memory_made_certain_serves_blocks_of_its_size)
{
    for (const std::size_t bytes : {100UL, 100'000UL, 10'000'000UL, 1UL}) {
        SCOPED_TRACE(bytes);
        certain_memory certain(bytes);
        ASSERT_TRUE(certain);
        const buffer_ref block(certain.allocate(bytes));
        ASSERT_TRUE(block);
        EXPECT_GE(block->capacity_bytes, bytes);
    }
    EXPECT_FALSE(certain_memory(SIZE_MAX));
    EXPECT_TRUE(certain_memory(1));
}

// What a thread keeps has been freed by then, and nothing is kept any more.
TEST(Buffer, may_be_freed_when_its_thread_is_at_its_end)
{
    struct late {
        buffer_ref block;
        ~late()
        {
            block.reset();
            block.reset(allocate_buffer(64));
        }
    };
    std::thread([] {
        // Destroyed after what the blocks of the thread need, as it is made before.
        static thread_local late last;
        last.block.reset(allocate_buffer(64));
        const buffer_ref other(allocate_buffer(64));
    }).join();
}

} // namespace
} // namespace zlink::base
