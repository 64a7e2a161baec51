// SPDX-License-Identifier: Apache-2.0
// Errands: handed over by any thread, run once for all hand-overs since the last time.
#include "runtime/io_thread.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace zlink::runtime {
namespace {

/// Remembers the highest number it was told before a run.
struct counter final : errand {
    void run() override { seen.store(told.load(std::memory_order_relaxed)); }
    std::atomic<int> told{0};
    std::atomic<int> seen{0};
};

TEST(errands, see_all_that_came_before_each_hand_over)
{
    constexpr int hand_overs = 20'000;
    io_thread thread;
    ASSERT_EQ(0, thread.start(0, {}));
    std::vector<std::shared_ptr<counter>> counters;
    for (int i = 0; i < 200; ++i) // more than are run in one turn
        counters.push_back(std::make_shared<counter>());
    const auto work = [&](std::size_t first) {
        for (int n = 1; n <= hand_overs; ++n)
            for (std::size_t i = first; i < counters.size(); i += 40) {
                counters[i]->told.store(n, std::memory_order_relaxed);
                thread.hand_over(*counters[i], counters[i]);
            }
    };
    std::thread one(work, 0);
    std::thread other(work, 1);
    one.join();
    other.join();
    for (std::size_t i = 2; i < counters.size(); ++i)
        if (i % 40 > 1) {
            counters[i]->told = hand_overs;
            thread.hand_over(*counters[i], counters[i]);
        }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (const auto& each : counters) {
        while (each->seen != hand_overs && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
        EXPECT_EQ(hand_overs, each->seen);
    }
}

TEST(errands, that_never_run_are_let_go)
{
    std::weak_ptr<counter> left;
    {
        io_thread never_started;
        const auto what = std::make_shared<counter>();
        left = what;
        never_started.hand_over(*what, what);
        never_started.hand_over(*what, what);
        EXPECT_EQ(3, what.use_count() + 1);
    }
    EXPECT_TRUE(left.expired());
}

} // namespace
} // namespace zlink::runtime
