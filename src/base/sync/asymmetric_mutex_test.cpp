// SPDX-License-Identifier: Apache-2.0
#include "base/sync/asymmetric_mutex.hpp"

#include <gtest/gtest.h>
#include <mutex>
#include <thread>
#include <vector>

namespace zlink::base {
namespace {

TEST(asymmetric_mutex, lets_one_in_at_a_time)
{
    asymmetric_mutex mutex;
    ASSERT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    mutex.unlock();
    ASSERT_TRUE(mutex.try_lock());
    mutex.unlock();
}

// Threads that wait must be woken however locking and unlocking meet: a wake-up that is lost keeps
// the test from its end. Yielding inside makes them wait often.
TEST(asymmetric_mutex, wakes_all_who_wait)
{
    constexpr int thread_count = 4;
    constexpr int turns = 20'000;
    asymmetric_mutex mutex;
    int counted = 0; // not atomic
    std::vector<std::thread> threads;
    for (int number = 0; number < thread_count; ++number)
        threads.emplace_back([&] {
            for (int turn = 0; turn < turns; ++turn) {
                const std::lock_guard lock(mutex);
                ++counted;
                if (turn % 16 == 0)
                    std::this_thread::yield();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(counted, thread_count * turns);
}

} // namespace
} // namespace zlink::base
