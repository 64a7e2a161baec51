// SPDX-License-Identifier: Apache-2.0
// The zmq_timers functions. The suite timers_own holds what only this library promises.
#include <zmq.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t hour_ms = 3'600'000;

bool spin_until(const std::function<bool()>& done)
{
    const auto deadline = clock::now() + 20s;
    while (!done()) {
        if (clock::now() > deadline) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

void spin_for(std::chrono::milliseconds duration)
{
    const auto end = clock::now() + duration;
    EXPECT_TRUE(spin_until([end] { return clock::now() >= end; }));
}

class timers : public ::testing::Test {
protected:
    using action = std::function<void(int)>;

    void SetUp() override { ASSERT_NE(set, nullptr); }
    void TearDown() override
    {
        if (set != nullptr) {
            EXPECT_EQ(zmq_timers_destroy(&set), 0);
        }
    }

    /// A timer that notes its id in `calls`.
    int add_noting(std::size_t interval_ms)
    {
        return zmq_timers_add(
            set, interval_ms,
            [](int id, void* arg) { static_cast<std::vector<int>*>(arg)->push_back(id); }, &calls);
    }
    /// A timer that runs `what`, which must outlive it.
    int add(std::size_t interval_ms, action& what)
    {
        return zmq_timers_add(
            set, interval_ms, [](int id, void* arg) { (*static_cast<action*>(arg))(id); }, &what);
    }
    /// Executes until `calls` has at least `count` entries.
    bool execute_until_calls(std::size_t count)
    {
        return spin_until([&] { return zmq_timers_execute(set) != 0 || calls.size() >= count; });
    }

    void* set = zmq_timers_new();
    std::vector<int> calls;
};

using timers_own = timers;

TEST_F(timers, ids_count_up_and_are_never_used_again)
{
    EXPECT_EQ(add_noting(hour_ms), 1);
    EXPECT_EQ(add_noting(hour_ms), 2);
    EXPECT_EQ(zmq_timers_cancel(set, 2), 0);
    EXPECT_EQ(add_noting(hour_ms), 3);
}

TEST_F(timers, without_a_timer_there_is_no_timeout)
{
    errno = 0;
    EXPECT_EQ(zmq_timers_timeout(set), -1);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    zmq_timers_cancel(set, add_noting(hour_ms));
    EXPECT_EQ(zmq_timers_timeout(set), -1);
}

TEST_F(timers, timeout_is_that_of_the_earliest)
{
    add_noting(2 * hour_ms);
    const int earliest = add_noting(hour_ms);
    add_noting(3 * hour_ms);
    EXPECT_LE(zmq_timers_timeout(set), long{hour_ms});
    EXPECT_GT(zmq_timers_timeout(set), long{hour_ms} - 60'000);
    zmq_timers_cancel(set, earliest);
    EXPECT_GT(zmq_timers_timeout(set), long{hour_ms});
}

TEST_F(timers, nothing_runs_before_it_is_due)
{
    add_noting(hour_ms);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_TRUE(calls.empty());
}

TEST_F(timers, a_due_timer_has_timeout_zero_and_runs_once)
{
    const int id = add_noting(10);
    ASSERT_TRUE(spin_until([&] { return zmq_timers_timeout(set) == 0; }));
    EXPECT_TRUE(calls.empty()) << "only execute runs handlers";
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector{id});
}

TEST_F(timers, runs_again_and_again_not_faster_than_the_interval)
{
    const auto start = clock::now();
    const int id = add_noting(5);
    ASSERT_TRUE(execute_until_calls(4));
    EXPECT_EQ(calls, std::vector(4, id));
    // One millisecond less: the reference counts in whole milliseconds.
    EXPECT_GE(clock::now() - start, 4 * 5ms - 1ms);
}

TEST_F(timers, missed_intervals_are_not_made_up_for)
{
    const int id = add_noting(5);
    spin_for(40ms);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector{id});
}

TEST_F(timers, the_next_time_counts_from_the_beginning_of_execute)
{
    action slow = [](int) { spin_for(40ms); };
    add(20, slow);
    ASSERT_TRUE(spin_until([&] { return zmq_timers_timeout(set) == 0; }));
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(zmq_timers_timeout(set), 0) << "it was due while its handler ran";
}

TEST_F(timers, due_timers_run_in_the_order_of_becoming_due)
{
    const int third = add_noting(120);
    const int first = add_noting(20);
    const int second = add_noting(70);
    spin_for(140ms);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, (std::vector{first, second, third}));
}

TEST_F(timers, unknown_ids_are_refused)
{
    add_noting(hour_ms);
    for (const int id : {0, -1, 99}) {
        errno = 0;
        EXPECT_EQ(zmq_timers_cancel(set, id), -1);
        EXPECT_EQ(errno, EINVAL);
        errno = 0;
        EXPECT_EQ(zmq_timers_reset(set, id), -1);
        EXPECT_EQ(errno, EINVAL);
        errno = 0;
        EXPECT_EQ(zmq_timers_set_interval(set, id, 1), -1);
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST_F(timers, set_interval_counts_from_now)
{
    const int id = add_noting(hour_ms);
    EXPECT_EQ(zmq_timers_set_interval(set, id, 2 * hour_ms), 0);
    EXPECT_GT(zmq_timers_timeout(set), long{hour_ms});
    EXPECT_EQ(zmq_timers_set_interval(set, id, 5), 0);
    EXPECT_LE(zmq_timers_timeout(set), 5);
    ASSERT_TRUE(execute_until_calls(2)) << "the new interval stays";
}

TEST_F(timers, reset_starts_the_interval_anew)
{
    const int id = add_noting(hour_ms);
    spin_for(100ms);
    const long before_ms = zmq_timers_timeout(set);
    EXPECT_EQ(zmq_timers_reset(set, id), 0);
    EXPECT_GT(zmq_timers_timeout(set), before_ms);
}

TEST_F(timers, a_timer_may_cancel_itself)
{
    action stop = [&](int id) {
        calls.push_back(id);
        EXPECT_EQ(zmq_timers_cancel(set, id), 0);
    };
    add(5, stop);
    ASSERT_TRUE(execute_until_calls(1));
    EXPECT_EQ(zmq_timers_timeout(set), -1);
    spin_for(15ms);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls.size(), 1u);
}

TEST_F(timers, null_and_garbage_are_refused)
{
    std::array<std::max_align_t, 16> garbage{};
    for (void* bad : {static_cast<void*>(nullptr), static_cast<void*>(garbage.data())}) {
        errno = 0;
        EXPECT_EQ(zmq_timers_add(
                      bad, 1, [](int, void*) {}, nullptr),
                  -1);
        EXPECT_EQ(errno, EFAULT);
        errno = 0;
        EXPECT_EQ(zmq_timers_cancel(bad, 1), -1);
        EXPECT_EQ(errno, EFAULT);
        errno = 0;
        EXPECT_EQ(zmq_timers_set_interval(bad, 1, 1), -1);
        EXPECT_EQ(errno, EFAULT);
        errno = 0;
        EXPECT_EQ(zmq_timers_reset(bad, 1), -1);
        EXPECT_EQ(errno, EFAULT);
        errno = 0;
        EXPECT_EQ(zmq_timers_timeout(bad), -1);
        EXPECT_EQ(errno, EFAULT);
        errno = 0;
        EXPECT_EQ(zmq_timers_execute(bad), -1);
        EXPECT_EQ(errno, EFAULT);
    }
    errno = 0;
    EXPECT_EQ(zmq_timers_add(set, 1, nullptr, nullptr), -1);
    EXPECT_EQ(errno, EFAULT);
}

TEST_F(timers, destroy_clears_the_handle)
{
    add_noting(hour_ms);
    EXPECT_EQ(zmq_timers_destroy(&set), 0);
    EXPECT_EQ(set, nullptr);
}

TEST_F(timers_own, destroying_nothing_is_refused)
{
    void* none = nullptr;
    errno = 0;
    EXPECT_EQ(zmq_timers_destroy(&none), -1);
    EXPECT_EQ(errno, EFAULT);
    errno = 0;
    EXPECT_EQ(zmq_timers_destroy(nullptr), -1);
    EXPECT_EQ(errno, EFAULT);
}

TEST_F(timers_own, a_cancelled_timer_is_unknown_at_once)
{
    const int id = add_noting(hour_ms);
    EXPECT_EQ(zmq_timers_cancel(set, id), 0);
    EXPECT_EQ(zmq_timers_cancel(set, id), -1);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(zmq_timers_reset(set, id), -1);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(zmq_timers_set_interval(set, id, 1), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(zmq_timers_timeout(set), -1);
}

TEST_F(timers_own, interval_zero_runs_once_per_execute)
{
    const int one = add_noting(0);
    const int two = add_noting(0);
    for (int round = 1; round <= 3; ++round) {
        EXPECT_EQ(zmq_timers_timeout(set), 0);
        calls.clear();
        EXPECT_EQ(zmq_timers_execute(set), 0);
        EXPECT_EQ(calls, (std::vector{one, two}));
    }
}

TEST_F(timers_own, a_handler_may_cancel_another_due_timer)
{
    int victim = 0;
    action kill = [&](int id) {
        calls.push_back(id);
        EXPECT_EQ(zmq_timers_cancel(set, victim), 0);
    };
    const int killer = add(0, kill);
    victim = add_noting(0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector{killer});
}

TEST_F(timers_own, a_timer_added_by_a_handler_waits_for_the_next_execute)
{
    action breed = [&](int id) {
        calls.push_back(id);
        add_noting(0);
        zmq_timers_cancel(set, id);
    };
    const int parent = add(0, breed);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector{parent});
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, (std::vector{parent, parent + 1}));
}

TEST_F(timers_own, a_handler_may_change_its_own_timer)
{
    action slow_down = [&](int id) {
        calls.push_back(id);
        EXPECT_EQ(zmq_timers_reset(set, id), 0);
        EXPECT_EQ(zmq_timers_set_interval(set, id, hour_ms), 0);
    };
    const int id = add(0, slow_down);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector{id});
    EXPECT_GT(zmq_timers_timeout(set), long{hour_ms} - 60'000);
}

TEST_F(timers_own, a_handler_may_put_off_another_due_timer)
{
    int delayed = 0;
    action put_off = [&](int id) {
        calls.push_back(id);
        EXPECT_EQ(zmq_timers_set_interval(set, delayed, hour_ms), 0);
    };
    const int id = add(0, put_off);
    delayed = add_noting(0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector{id});
}

TEST_F(timers_own, a_handler_may_execute)
{
    action nested = [&](int id) {
        calls.push_back(id);
        if (calls.size() < 3) {
            EXPECT_EQ(zmq_timers_execute(set), 0);
        }
    };
    const int id = add(0, nested);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, std::vector(3, id));
}

TEST_F(timers_own, a_handler_may_destroy_the_timers)
{
    action destroy = [&](int id) {
        calls.push_back(id);
        EXPECT_EQ(zmq_timers_destroy(&set), 0);
    };
    const int id = add(0, destroy);
    add_noting(0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(set, nullptr);
    EXPECT_EQ(calls, std::vector{id}) << "nothing runs after the end";
}

TEST_F(timers_own, huge_intervals_never_come)
{
    add_noting(std::numeric_limits<std::size_t>::max());
    EXPECT_GT(zmq_timers_timeout(set), long{hour_ms});
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_TRUE(calls.empty());
}

TEST_F(timers_own, waiting_the_timeout_out_is_enough)
{
    for (int round = 0; round < 5; ++round) {
        const int id = add_noting(3);
        const long timeout_ms = zmq_timers_timeout(set);
        spin_for(std::chrono::milliseconds(timeout_ms));
        EXPECT_EQ(zmq_timers_timeout(set), 0);
        zmq_timers_cancel(set, id);
    }
}

TEST_F(timers_own, many_timers_run_in_order)
{
    constexpr int count = 2000;
    std::vector<int> expected;
    for (int i = 0; i < count; ++i) {
        expected.push_back(add_noting(0));
    }
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(calls, expected);
}

} // namespace
