// SPDX-License-Identifier: Apache-2.0
#include "runtime/guard_timer.hpp"

#include "support/scarce_memory.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <new>

namespace zlink::runtime {
namespace {

struct fake_guarded final : guarded {
    explicit fake_guarded(int needed) : looks_needed(needed) {}
    bool look_after() noexcept override { return ++looks < looks_needed; }
    void lose_guard() noexcept override { ++losses; }

    int looks_needed;
    int looks = 0;
    int losses = 0;
};

class GuardTimer : public ::testing::Test {
protected:
    std::shared_ptr<fake_guarded> watch(int looks_needed)
    {
        auto made = std::make_shared<fake_guarded>(looks_needed);
        guard_timer::watch(*io_, made);
        return made;
    }

    std::unique_ptr<boost::asio::io_context> io_ = std::make_unique<boost::asio::io_context>();
};

TEST_F(GuardTimer, looks_after_each_until_it_needs_no_guard)
{
    const auto one = watch(1);
    const auto other = watch(5);
    io_->run(); // returns when nothing is waited for any more
    EXPECT_EQ(1, one->looks);
    EXPECT_EQ(5, other->looks);
    EXPECT_EQ(0, one->losses + other->losses);
    EXPECT_EQ(1, one.use_count());
    io_->restart();
    const auto later = watch(2);
    io_->run();
    EXPECT_EQ(2, later->looks);
}

TEST_F(GuardTimer, needs_one_timer_for_all)
{
    const auto one = watch(100);
    const auto other = watch(100);
    io_->poll(); // both have joined
    for (int looks = 1; looks <= 5; ++looks) {
        while (one->looks < looks)
            ASSERT_EQ(1U, io_->run_one());
        EXPECT_EQ(one->looks, other->looks);
    }
}

TEST_F(GuardTimer, tells_those_that_lose_it_with_the_context)
{
    const auto joined = watch(100);
    io_->poll();
    const auto on_its_way = watch(100);
    io_.reset();
    EXPECT_EQ(1, joined->losses);
    EXPECT_EQ(1, on_its_way->losses);
}

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE
TEST_F(GuardTimer, loses_nobody_without_memory)
{
    for (int allocations = 0; allocations < 8; ++allocations) {
        io_ = std::make_unique<boost::asio::io_context>();
        const auto one = std::make_shared<fake_guarded>(1);
        {
            const test::memory_for scarce(allocations);
            try {
                guard_timer::watch(*io_, one);
                io_->poll();
            } catch (const std::bad_alloc&) {
            }
        }
        io_->run();
        EXPECT_EQ(1, one->looks + one->losses) << allocations;
    }
}
#endif

} // namespace
} // namespace zlink::runtime
