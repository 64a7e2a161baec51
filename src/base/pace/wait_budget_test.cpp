// SPDX-License-Identifier: Apache-2.0
#include "base/pace/wait_budget.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace zlink::base {
namespace {

using namespace std::chrono_literals;
using step = write_retry::step;

class WaitBudget : public ::testing::Test {
protected:
    void wait(steady_clock::duration time)
    {
        subject_.waited(now_, now_ + time);
        now_ += time;
    }
    bool may_wait() { return subject_.may_wait(now_); }

    wait_budget subject_;
    steady_clock::time_point now_{1h};
};

TEST_F(WaitBudget, lets_a_thread_wait_that_has_not_waited_lately)
{
    EXPECT_TRUE(may_wait());
    wait(900us);
    EXPECT_TRUE(may_wait());
}

TEST_F(WaitBudget, lets_it_go_on_for_four_times_as_long_as_it_has_waited)
{
    EXPECT_TRUE(may_wait());
    wait(3ms);
    EXPECT_FALSE(may_wait());
    now_ += 7900us;
    EXPECT_FALSE(may_wait());
    now_ += 200us;
    EXPECT_TRUE(may_wait());
}

TEST_F(WaitBudget, does_not_save_up_more_than_one_wait)
{
    now_ += 1h;
    EXPECT_TRUE(may_wait());
    wait(1ms);
    EXPECT_FALSE(may_wait());
}

TEST_F(WaitBudget, lets_a_fifth_of_the_time_be_waited)
{
    const auto begin = now_;
    steady_clock::duration waited{};
    while (now_ - begin < 1s) {
        if (may_wait()) {
            wait(700us);
            waited += 700us;
        }
        now_ += 50us;
    }
    EXPECT_GT(waited, 190ms);
    EXPECT_LT(waited, 205ms);
}

TEST(WaitForOneOfSeveral, waits_as_long_as_the_thread_may)
{
    std::thread([] {
        write_retry retry;
        int attempts = 0;
        const auto attempt = [&] { return ++attempts % 3 == 0 ? step::done : step::nothing; };
        EXPECT_TRUE(wait_for_one_of_several(retry, attempt));
        EXPECT_EQ(3, attempts);
        const auto now = steady_clock::now();
        wait_budget::of_this_thread()->waited(now - 1h, now);
        EXPECT_FALSE(wait_for_one_of_several(retry, attempt));
        EXPECT_EQ(3, attempts);
        std::thread([&] { EXPECT_TRUE(wait_for_one_of_several(retry, attempt)); }).join();
        EXPECT_EQ(6, attempts) << "each thread has its own";
    }).join();
}

TEST(WaitForOneOfSeveral, counts_what_it_has_waited)
{
    std::thread([] {
        write_retry retry;
        int waits = 0;
        const auto begin = steady_clock::now();
        // A reader that always takes a little is waited for as long as that may be.
        while (wait_for_one_of_several(retry, [] { return step::progress; }))
            ++waits;
        EXPECT_LE(1, waits);
        EXPECT_GE(1 + 1000 * (steady_clock::now() - begin) / 1s, waits);
    }).join();
}

} // namespace
} // namespace zlink::base
