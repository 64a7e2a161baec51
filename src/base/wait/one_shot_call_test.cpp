// SPDX-License-Identifier: Apache-2.0
#include "base/wait/one_shot_call.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace zlink::base {
namespace {

void count_up(void* counter)
{
    ++*static_cast<std::atomic<int>*>(counter);
}

TEST(OneShotCall, is_made_once_each_time_it_was_armed)
{
    one_shot_call subject;
    std::atomic<int> calls{0};
    subject.fire();
    EXPECT_EQ(0, calls);
    for (int round = 1; round <= 3; ++round) {
        subject.arm(count_up, &calls);
        EXPECT_TRUE(subject.armed());
        subject.fire();
        EXPECT_FALSE(subject.armed());
        subject.fire();
        EXPECT_EQ(round, calls);
    }
    EXPECT_FALSE(subject.disarm());
}

TEST(OneShotCall, is_not_made_once_it_was_disarmed)
{
    one_shot_call subject;
    std::atomic<int> calls{0};
    subject.arm(count_up, &calls);
    EXPECT_TRUE(subject.disarm());
    subject.fire();
    EXPECT_EQ(0, calls);
}

// A call that takes until somebody waits for it, and a little longer.
struct slow_call {
    static void make(void* self)
    {
        auto& call = *static_cast<slow_call*>(self);
        call.running = true;
        call.running.notify_one();
        call.is_waited_for.wait(false);
        for (volatile int rounds = 0; rounds < 1'000'000;)
            rounds = rounds + 1;
        call.ended = true;
    }

    std::atomic<bool> running{false};
    std::atomic<bool> is_waited_for{false};
    std::atomic<bool> ended{false};
};

// Runs `wait` while another thread makes the call. True if it has waited for the end of it.
template <class Wait>
bool waits_for_running_call(Wait wait)
{
    one_shot_call subject;
    slow_call call;
    subject.arm(slow_call::make, &call);
    std::thread other([&] { subject.fire(); });
    call.running.wait(false);
    call.is_waited_for = true;
    call.is_waited_for.notify_one();
    wait(subject);
    const bool waited = call.ended;
    other.join();
    return waited;
}

TEST(OneShotCall, is_waited_for_by_who_disarms_it_and_by_who_wants_it_made_now)
{
    EXPECT_TRUE(
        waits_for_running_call([](one_shot_call& subject) { EXPECT_FALSE(subject.disarm()); }));
    EXPECT_TRUE(waits_for_running_call([](one_shot_call& subject) { subject.fire_and_wait(); }));
}

TEST(OneShotCall, is_made_by_one_of_many_threads)
{
    constexpr int rounds = 2'000;
    one_shot_call subject;
    std::atomic<int> calls{0};
    std::atomic<bool> over{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i)
        others.emplace_back([&] {
            while (!over)
                subject.fire();
        });
    int disarmed = 0;
    for (int round = 0; round < rounds; ++round) {
        subject.arm(count_up, &calls);
        disarmed += subject.disarm() ? 1 : 0;
        EXPECT_EQ(round + 1, disarmed + calls); // and none is under way
    }
    over = true;
    for (std::thread& each : others)
        each.join();
}

} // namespace
} // namespace zlink::base
