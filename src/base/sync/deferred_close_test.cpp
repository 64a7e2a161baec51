// SPDX-License-Identifier: Apache-2.0
#include "base/sync/deferred_close.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace zlink::base {
namespace {

using closer = deferred_close::closer;

TEST(DeferredClose, is_the_requesters_if_nobody_waits)
{
    deferred_close close;
    const auto owner = std::make_shared<int>();
    close.begin_wait();
    EXPECT_FALSE(close.end_wait());
    EXPECT_EQ(close.request(owner), closer::requester);
    EXPECT_TRUE(close.requested());
    EXPECT_EQ(owner.use_count(), 1);
    EXPECT_EQ(close.claim(), nullptr) << "the requester has the right";
}

TEST(DeferredClose, is_for_whoever_waits)
{
    deferred_close close;
    const auto owner = std::make_shared<int>();
    EXPECT_EQ(close.claim(), nullptr) << "nobody wants it closed";
    close.begin_wait();
    close.begin_wait();
    EXPECT_EQ(close.request(owner), closer::waiting_thread);
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_FALSE(close.end_wait()) << "there is an outer wait";
    EXPECT_TRUE(close.end_wait());
    EXPECT_EQ(close.claim(), owner);
    EXPECT_EQ(owner.use_count(), 1);
    EXPECT_EQ(close.claim(), nullptr) << "only once";
}

// A thread that begins to wait just as another requests the closing.
TEST(DeferredClose, has_exactly_one_closer)
{
    constexpr int rounds = 2000;
    int by_waiting_thread = 0;
    for (int round = 0; round < rounds; ++round) {
        deferred_close close;
        const auto owner = std::make_shared<int>();
        std::atomic<int> ready{0};
        std::atomic<int> closers{0};
        std::atomic<bool> woken{false};
        const auto meet = [&] {
            ++ready;
            while (ready != 2)
                std::this_thread::yield();
        };
        std::thread waiting([&] {
            meet();
            close.begin_wait();
            while (!close.requested() && !woken)
                std::this_thread::yield();
            if (close.end_wait() && close.claim()) {
                ++closers;
                ++by_waiting_thread;
            }
        });
        meet();
        if (round % 2 != 0)
            std::this_thread::yield();
        const closer chosen = close.request(owner);
        closers += chosen == closer::requester;
        woken = chosen == closer::waiting_thread;
        waiting.join();
        ASSERT_EQ(closers, 1) << round;
        ASSERT_EQ(owner.use_count(), 1) << round;
    }
    EXPECT_GT(by_waiting_thread, 0);
}

// A wait that ends by itself just as another thread requests the closing.
TEST(DeferredClose, may_be_destroyed_by_a_requester_that_closes)
{
    constexpr int rounds = 2000;
    for (int round = 0; round < rounds; ++round) {
        auto close = std::make_unique<deferred_close>();
        const auto owner = std::make_shared<int>();
        std::atomic<int> ready{0};
        std::atomic<int> closers{0};
        const auto meet = [&] {
            ++ready;
            while (ready != 2)
                std::this_thread::yield();
        };
        std::thread waiting([&, waits = close.get()] {
            waits->begin_wait();
            meet();
            if (waits->end_wait() && waits->claim())
                ++closers;
        });
        meet();
        if (close->request(owner) == closer::requester) {
            ++closers;
            close.reset();
        }
        waiting.join();
        ASSERT_EQ(closers, 1) << round;
    }
}

} // namespace
} // namespace zlink::base
