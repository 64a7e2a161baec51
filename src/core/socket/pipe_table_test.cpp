// SPDX-License-Identifier: Apache-2.0
#include "core/socket/pipe_table.hpp"
#include "support/scarce_memory.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <vector>

namespace zlink::core {
namespace {

std::shared_ptr<pipe_end> make_pipe()
{
    return std::make_shared<pipe_end>(std::make_shared<channel_pair>(), true, nullptr);
}

std::vector<std::uint32_t> numbers_in(const pipe_table& table)
{
    std::vector<std::uint32_t> all;
    table.for_each([&](const pipe_end& pipe) { all.push_back(pipe.slot.number); });
    return all;
}

using numbers = std::vector<std::uint32_t>;

TEST(PipeTable, uses_numbers_again)
{
    pipe_table table;
    std::vector<std::shared_ptr<pipe_end>> pipes;
    for (int i = 0; i < 4; ++i) {
        pipes.push_back(make_pipe());
        table.add(pipes.back());
    }
    EXPECT_EQ(numbers_in(table), (numbers{0, 1, 2, 3}));
    table.remove(*pipes[1]);
    table.remove(*pipes[3]);
    EXPECT_EQ(table.size(), 2u);
    EXPECT_EQ(numbers_in(table), (numbers{0, 2}));
    table.add(pipes[1] = make_pipe());
    table.add(pipes[3] = make_pipe());
    EXPECT_EQ(table.size(), 4u);
    EXPECT_EQ(table.numbers(), 4u);
    EXPECT_EQ(numbers_in(table), (numbers{0, 1, 2, 3}));
    table.add(make_pipe());
    EXPECT_EQ(table.numbers(), 5u);
}

TEST(PipeTable, may_be_emptied_while_it_is_walked_through)
{
    pipe_table table;
    for (int i = 0; i < 10; ++i)
        table.add(make_pipe());
    numbers met;
    table.for_each_kept([&](pipe_end& pipe) {
        table.remove(pipe);
        met.push_back(pipe.slot.number); // it is still there
    });
    EXPECT_EQ(met.size(), 10u);
    EXPECT_EQ(table.size(), 0u);
}

TEST(PipeTable, gives_each_dropped_pipe_once)
{
    pipe_table table;
    const auto one = make_pipe();
    const auto other = make_pipe();
    table.add(one);
    table.add(other);
    EXPECT_FALSE(table.has_dropped());
    table.drop(*one);
    table.drop(*other);
    EXPECT_EQ(table.size(), 2u) << "they are not closed yet";
    EXPECT_EQ(table.take_dropped(), other);
    EXPECT_EQ(table.take_dropped(), one);
    EXPECT_FALSE(table.has_dropped());
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST(PipeTable, needs_memory_only_to_grow)
{
    pipe_table table;
    std::vector<std::shared_ptr<pipe_end>> pipes;
    for (int i = 0; i < 40; ++i) {
        auto pipe = make_pipe();
        for (long allocations = 0;; ++allocations) {
            const std::size_t before = table.size();
            try {
                const test::memory_for memory(allocations);
                table.add(pipe);
                break;
            } catch (const std::bad_alloc&) {
                ASSERT_EQ(table.size(), before);
            }
        }
        pipes.push_back(std::move(pipe));
        const test::no_memory none;
        for (const auto& each : pipes)
            table.drop(*each);
        while (table.has_dropped())
            table.take_dropped();
    }
    const test::no_memory none;
    for (const auto& each : pipes)
        table.remove(*each);
    EXPECT_EQ(table.size(), 0u);
}
#endif

} // namespace
} // namespace zlink::core
