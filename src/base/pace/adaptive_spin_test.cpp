// SPDX-License-Identifier: Apache-2.0
#include "base/pace/adaptive_spin.hpp"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <utility>

namespace zlink::base {
namespace {

constexpr auto at_once = [] { return glance::news; };
constexpr auto short_sleep = [] { return wait_result::ready; };

// A adaptive_spin that has seen short sleeps until it looks.
adaptive_spin ready_to_look()
{
    adaptive_spin subject;
    bool looked = false;
    for (int i = 0; i < 100 && !looked; ++i)
        subject.wait(
            false, no_deadline,
            [&] {
                looked = true;
                return glance::news;
            },
            short_sleep);
    EXPECT_TRUE(looked);
    return subject;
}

// Waits until the next look; how many sleeps there were before.
int sleeps_before_look(adaptive_spin& subject, bool success)
{
    int sleeps = 0;
    bool looked = false;
    while (!looked) {
        subject.wait(
            false, no_deadline,
            [&] {
                looked = true;
                return success ? glance::news : glance::nothing;
            },
            [&] {
                sleeps += looked ? 0 : 1;
                return wait_result::ready;
            });
    }
    return sleeps;
}

TEST(Patience, sleeps_at_first)
{
    adaptive_spin subject;
    EXPECT_EQ(wait_result::ready, subject.wait(false, no_deadline, at_once, short_sleep));
}

TEST(Patience, looks_on_while_that_finds_something)
{
    adaptive_spin subject = ready_to_look();
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(wait_result::signalled, subject.wait(false, no_deadline, at_once, short_sleep))
            << i;
}

TEST(Patience, sleeps_when_a_look_finds_nothing)
{
    adaptive_spin subject = ready_to_look();
    int looks = 0;
    const auto begin = steady_clock::now();
    EXPECT_EQ(wait_result::ready, subject.wait(
                                      false, no_deadline,
                                      [&] {
                                          ++looks;
                                          return glance::nothing;
                                      },
                                      short_sleep));
    EXPECT_GT(looks, 0);
    EXPECT_GE(steady_clock::now() - begin, adaptive_spin::longest_look);
}

TEST(Patience, a_look_goes_on_while_there_is_progress)
{
    adaptive_spin subject = ready_to_look();
    const auto begin = steady_clock::now();
    EXPECT_EQ(wait_result::signalled, subject.wait(
                                          false, no_deadline,
                                          [&] {
                                              return steady_clock::now() - begin <
                                                             adaptive_spin::longest_look * 3
                                                         ? glance::progress
                                                         : glance::news;
                                          },
                                          short_sleep));
    EXPECT_EQ(0, sleeps_before_look(subject, true)) << "and was a good one";
}

TEST(Patience, looks_less_and_less_where_that_finds_nothing)
{
    adaptive_spin subject = ready_to_look();
    int last = 0;
    for (int longest = 4; longest <= 64;) {
        const int sleeps = sleeps_before_look(subject, false);
        EXPECT_LE(sleeps, longest * 2);
        if (sleeps > last)
            longest *= 2;
        last = sleeps;
    }
    // And often again where it does.
    for (int i = 0; i < 100; ++i)
        sleeps_before_look(subject, true);
    int sleeps = 0;
    for (int looks = 0; sleeps == 0; ++looks) {
        ASSERT_LT(looks, 100);
        sleeps = sleeps_before_look(subject, false);
    }
    EXPECT_LE(sleeps, 16);
}

TEST(Patience, a_look_does_not_outlast_the_deadline)
{
    adaptive_spin subject = ready_to_look();
    int looks = 0;
    subject.wait(
        false, steady_clock::now(),
        [&] {
            ++looks;
            return glance::nothing;
        },
        short_sleep);
    EXPECT_EQ(1, looks);
}

TEST(Patience, progress_does_not_outlast_the_deadline)
{
    adaptive_spin subject = ready_to_look();
    const auto until = steady_clock::now() + adaptive_spin::longest_look * 2;
    EXPECT_EQ(wait_result::ready, subject.wait(
                                      false, until, [] { return glance::progress; }, short_sleep));
    EXPECT_GE(steady_clock::now(), until);
}

TEST(Patience, a_stream_is_not_looked_for)
{
    adaptive_spin subject = ready_to_look();
    EXPECT_EQ(wait_result::ready, subject.wait(true, no_deadline, at_once, short_sleep));
}

// --- one processor -------------------------------------------------------------------------------

/// Two threads on one processor that answer each other.
class OnOneProcessor : public testing::Test {
protected:
    // Answers until `done(glances)` says so of a look that needed a second glance.
    template <class Done>
    void answer(int side, Done done)
    {
        EXPECT_EQ(0, ::pthread_setaffinity_np(::pthread_self(), sizeof processors_, &processors_));
        adaptive_spin subject;
        while (!ended_) {
            int glances = 0;
            const auto found = [&] {
                ++glances;
                return turn_ == side || ended_ ? glance::news : glance::nothing;
            };
            subject.wait(false, no_deadline, found, [&] {
                while (turn_ != side && !ended_)
                    std::this_thread::yield();
                return wait_result::ready;
            });
            turn_ = 1 - side;
            if (glances > 1 && done(glances))
                ended_ = true;
        }
    }

    // The first one that this thread may use.
    const cpu_set_t processors_ = [] {
        cpu_set_t usable, one;
        CPU_ZERO(&one);
        ::pthread_getaffinity_np(::pthread_self(), sizeof usable, &usable);
        for (int number = 0; number < CPU_SETSIZE; ++number)
            if (CPU_ISSET(number, &usable)) {
                CPU_SET(number, &one);
                break;
            }
        return one;
    }();
    std::atomic<int> turn_{0};
    std::atomic<bool> ended_{false};
};

TEST_F(OnOneProcessor, gives_it_to_the_other_at_once)
{
    constexpr int enough = 10; // fewer than between two trials
    int in_a_row = 0;          // looks that needed no third glance
    int looks = 0;
    std::thread there([&] { answer(1, [](int) { return false; }); });
    std::thread here([&] {
        answer(0, [&](int glances) {
            in_a_row = glances == 2 ? in_a_row + 1 : 0;
            return in_a_row == enough || ++looks == 200'000;
        });
    });
    here.join();
    there.join();
    EXPECT_EQ(enough, in_a_row);
}

// --- signals -------------------------------------------------------------------------------------

volatile std::sig_atomic_t handled = 0;

class SignalWhileLooking : public testing::Test {
protected:
    static constexpr int number = SIGUSR1;

    explicit SignalWhileLooking(void (*handler)(int) = nullptr)
    {
        handled = 0;
        struct sigaction action {};
        action.sa_handler = handler ? handler : [](int) { handled = handled + 1; };
        action.sa_flags = SA_RESTART;
        ::sigaction(number, &action, &before_);
    }
    ~SignalWhileLooking() override { ::sigaction(number, &before_, nullptr); }

    // One wait, during whose look the signal comes.
    wait_result wait(bool then_success)
    {
        adaptive_spin subject = ready_to_look();
        bool raised = false;
        const wait_result result = subject.wait(
            false, no_deadline,
            [&] {
                if (!std::exchange(raised, true))
                    ::pthread_kill(::pthread_self(), number);
                else
                    EXPECT_EQ(0, handled);
                return then_success ? glance::news : glance::nothing;
            },
            [] { return wait_result::ready; });
        EXPECT_TRUE(raised);
        return result;
    }

private:
    struct sigaction before_ {};
};

TEST_F(SignalWhileLooking, ends_the_wait)
{
    EXPECT_EQ(wait_result::interrupted, wait(false));
    EXPECT_EQ(1, handled);
}

TEST_F(SignalWhileLooking, does_not_cost_what_has_come)
{
    EXPECT_EQ(wait_result::signalled, wait(true));
    EXPECT_EQ(1, handled);
}

TEST_F(SignalWhileLooking, is_left_alone_where_the_thread_blocks_it)
{
    sigset_t mine, before;
    sigemptyset(&mine);
    sigaddset(&mine, number);
    pthread_sigmask(SIG_BLOCK, &mine, &before);
    EXPECT_EQ(wait_result::ready, wait(false));
    EXPECT_EQ(0, handled);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(1, handled);
}

class IgnoredSignalWhileLooking : public SignalWhileLooking {
protected:
    IgnoredSignalWhileLooking() : SignalWhileLooking(SIG_IGN) {}
};

TEST_F(IgnoredSignalWhileLooking, ends_nothing)
{
    EXPECT_EQ(wait_result::ready, wait(false));
}

} // namespace
} // namespace zlink::base
