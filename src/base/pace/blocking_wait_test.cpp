// SPDX-License-Identifier: Apache-2.0
#include "base/pace/blocking_wait.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace zlink::base {
namespace {

using std::chrono::milliseconds;

// Time passes only where a test says so.
struct stopped_clock {
    static steady_clock::time_point now() noexcept { return time; }
    static void yield() noexcept {}
    static inline steady_clock::time_point time{std::chrono::hours(1)};
};

// What a wait has done, a letter for each step: p(oll), f(lush), m(ake ready), s(leep), and c(heck)
// of a spin.
class BlockingWait : public testing::Test {
protected:
    struct fake_sleeper {
        bool prepare()
        {
            test.steps += 'm';
            return !test.prepare || test.prepare();
        }
        basic_adaptive_spin<stopped_clock>* spin() { return test.spin; }
        bool in_stream() { return false; }
        glance check()
        {
            test.steps += 'c';
            return test.seen_by_spin;
        }
        wait_result sleep(deadline until)
        {
            test.steps += 's';
            test.until = until;
            return test.sleep();
        }
        BlockingWait& test;
    };
    static_assert(sleeper<fake_sleeper, stopped_clock>);

    poll_answer answer()
    {
        steps += 'p';
        return poll ? poll() : poll_answer::nothing();
    }
    int run(int timeout_ms, bool sleeps_anyhow = false)
    {
        return basic_blocking_wait<stopped_clock>(timeout_ms, sleeps_anyhow)
            .run([this] { return answer(); }, [this] { steps += 'f'; }, how_);
    }
    int run_after_a_poll(int timeout_ms)
    {
        return basic_blocking_wait<stopped_clock>(timeout_ms)
            .run_after(
                poll_answer::nothing(), [this] { return answer(); }, [this] { steps += 'f'; },
                how_);
    }
    /// The answer of the poll that comes after as many sleeps; before that there is nothing.
    void ready_after(std::size_t sleeps, int error = 0)
    {
        poll = [=, this] {
            return slept() >= sleeps ? poll_answer::ended(error) : poll_answer::nothing();
        };
    }
    std::size_t slept() const { return static_cast<std::size_t>(std::ranges::count(steps, 's')); }
    static wait_result sleep_for(milliseconds time, wait_result woken)
    {
        stopped_clock::time += time;
        return woken;
    }

    std::string steps;
    std::function<poll_answer()> poll;
    std::function<bool()> prepare;
    std::function<wait_result()> sleep = [] { return wait_result::signalled; };
    basic_adaptive_spin<stopped_clock>* spin = nullptr;
    glance seen_by_spin = glance::nothing;
    deadline until{};

private:
    fake_sleeper how_{*this};
};

// While it lives, SIGUSR1 is counted.
class counted_signal {
public:
    counted_signal()
    {
        handled = 0;
        struct sigaction action {};
        action.sa_handler = [](int) { handled = handled + 1; };
        ::sigaction(SIGUSR1, &action, &before_);
    }
    ~counted_signal() { ::sigaction(SIGUSR1, &before_, nullptr); }
    counted_signal(const counted_signal&) = delete;
    counted_signal& operator=(const counted_signal&) = delete;

    static inline volatile std::sig_atomic_t handled = 0;

private:
    struct sigaction before_ {};
};

TEST_F(BlockingWait, writes_nothing_and_does_not_sleep_if_something_is_ready_at_once)
{
    for (const int timeout_ms : {0, 1, -1}) {
        steps.clear();
        ready_after(0);
        EXPECT_EQ(0, run(timeout_ms));
        EXPECT_EQ("p", steps);
    }
}

TEST_F(BlockingWait, ends_as_soon_as_something_is_ready_after_a_sleep)
{
    ready_after(1);
    EXPECT_EQ(0, run(-1));
    EXPECT_EQ("pfmsp", steps);
    EXPECT_EQ(no_deadline, until);
}

TEST_F(BlockingWait, does_not_poll_first_for_who_has_polled)
{
    ready_after(1);
    EXPECT_EQ(0, run_after_a_poll(-1));
    EXPECT_EQ("fmsp", steps);
}

TEST_F(BlockingWait, writes_before_each_sleep)
{
    ready_after(3);
    EXPECT_EQ(0, run(-1));
    EXPECT_EQ("pfmspfmspfmsp", steps);
}

TEST_F(BlockingWait, writes_once_and_does_not_sleep_without_time)
{
    EXPECT_EQ(EAGAIN, run(0));
    EXPECT_EQ("pf", steps);
    steps.clear();
    EXPECT_EQ(EAGAIN, run_after_a_poll(0));
    EXPECT_EQ("f", steps);
    steps.clear();
    poll = [] { return poll_answer::changed(); };
    EXPECT_EQ(EAGAIN, run(0));
    EXPECT_EQ("pf", steps);
}

TEST_F(BlockingWait, sleeps_once_without_time_if_it_has_to_let_signals_in)
{
    sleep = [] { return wait_result::timeout; };
    EXPECT_EQ(EAGAIN, run(0, true));
    EXPECT_EQ("pfmsp", steps);
    EXPECT_EQ(stopped_clock::time, until);
    sleep = [] { return wait_result::interrupted; };
    EXPECT_EQ(EINTR, run(0, true));
}

TEST_F(BlockingWait, polls_once_more_when_time_is_up)
{
    sleep = [] { return sleep_for(milliseconds(20), wait_result::timeout); };
    const auto begin = stopped_clock::time;
    EXPECT_EQ(EAGAIN, run(20));
    EXPECT_EQ("pfmsp", steps);
    EXPECT_EQ(begin + milliseconds(20), until);
    steps.clear();
    ready_after(1);
    EXPECT_EQ(0, run(20));
}

TEST_F(BlockingWait, does_not_begin_anew_with_each_event)
{
    const auto begin = stopped_clock::time;
    sleep = [] { return sleep_for(milliseconds(6), wait_result::signalled); };
    EXPECT_EQ(EAGAIN, run(20));
    EXPECT_EQ("pfmspfmspfmspfmsp", steps); // 24 ms
    EXPECT_EQ(begin + milliseconds(20), until);
}

TEST_F(BlockingWait, ends_in_time_though_each_poll_changes_something)
{
    poll = [] {
        stopped_clock::time += milliseconds(5);
        return poll_answer::changed();
    };
    EXPECT_EQ(EAGAIN, run(20));
    EXPECT_EQ("ppfpp", steps); // without sleep, and what was batched does not wait for ever
}

TEST_F(BlockingWait, polls_again_instead_of_sleeping_if_a_poll_has_changed_something)
{
    int polls = 0;
    poll = [&] {
        return ++polls == 1 ? poll_answer::changed()
               : polls == 2 ? poll_answer::nothing()
                            : poll_answer::ended(0);
    };
    EXPECT_EQ(0, run(-1));
    EXPECT_EQ("ppfmsp", steps);
}

TEST_F(BlockingWait, polls_again_if_preparing_has_brought_something)
{
    prepare = [this] { return steps.size() > 5; };
    ready_after(1);
    EXPECT_EQ(0, run(-1));
    EXPECT_EQ("pfmpfmsp", steps);
    steps.clear();
    prepare = [] {
        stopped_clock::time += milliseconds(5);
        return false;
    };
    EXPECT_EQ(EAGAIN, run(10));
    EXPECT_EQ("pfmpfmp", steps);
}

TEST_F(BlockingWait, tells_of_a_signal_only_if_nothing_is_ready)
{
    sleep = [] { return wait_result::interrupted; };
    EXPECT_EQ(EINTR, run(-1));
    EXPECT_EQ("pfmsp", steps);
    steps.clear();
    ready_after(1);
    EXPECT_EQ(0, run(-1));
}

TEST_F(BlockingWait, tells_of_a_signal_though_each_poll_changes_something)
{
    const counted_signal signal;
    int polls = 0;
    poll = [&] {
        if (++polls == 10)
            ::raise(SIGUSR1);
        EXPECT_EQ(0, counted_signal::handled);
        return poll_answer::changed();
    };
    EXPECT_EQ(EINTR, run(-1));
    EXPECT_EQ(10, polls);
    EXPECT_EQ(1, counted_signal::handled);
    // What is ready is not thrown away; the handler has run all the same.
    polls = 0;
    poll = [&] {
        if (++polls == 10)
            ::raise(SIGUSR1);
        return polls == 10 ? poll_answer::ended(0) : poll_answer::changed();
    };
    EXPECT_EQ(0, run(-1));
    EXPECT_EQ(2, counted_signal::handled);
}

TEST_F(BlockingWait, holds_no_signals_while_it_sleeps)
{
    const counted_signal signal;
    int polls = 0;
    poll = [&] { return ++polls < 5 ? poll_answer::changed() : poll_answer::nothing(); };
    sleep = [] {
        ::raise(SIGUSR1);
        EXPECT_EQ(1, counted_signal::handled);
        return wait_result::interrupted;
    };
    EXPECT_EQ(EINTR, run(-1));
}

TEST_F(BlockingWait, ends_with_the_error_of_a_poll)
{
    ready_after(1, ENOTSOCK); // closed by another thread meanwhile
    EXPECT_EQ(ENOTSOCK, run(-1));
    EXPECT_EQ("pfmsp", steps);
    for (const auto woken : {wait_result::timeout, wait_result::interrupted}) {
        steps.clear();
        sleep = [=] { return woken; };
        EXPECT_EQ(ENOTSOCK, run(10));
    }
}

TEST_F(BlockingWait, spins_before_it_sleeps_where_that_pays)
{
    basic_adaptive_spin<stopped_clock> habit;
    spin = &habit;
    seen_by_spin = glance::news;
    for (int waits = 0; steps.find('c') == std::string::npos && waits < 100; ++waits) {
        steps.clear();
        poll = [this] { return steps.size() > 1 ? poll_answer::ended(0) : poll_answer::nothing(); };
        EXPECT_EQ(0, run(-1));
    }
    EXPECT_EQ("pfmcp", steps);
}

} // namespace
} // namespace zlink::base
