// SPDX-License-Identifier: Apache-2.0
#include "base/pace/adaptive_spin.hpp"

#include <chrono>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <utility>
#include <vector>

namespace zlink::base {
namespace {

// A processor on which nothing takes time but what a test lets pass: what a spin decides does not
// depend on what else the machine does meanwhile.
struct simulated_processor {
    static steady_clock::time_point now() noexcept { return time += glance_time; }
    static void yield() noexcept
    {
        ++yields;
        if (meanwhile)
            meanwhile();
    }

    static constexpr std::chrono::nanoseconds glance_time{100};
    static inline steady_clock::time_point time;
    static inline int yields = 0;
    static inline std::function<void()> meanwhile; // what other threads do during a yield
};

using spin = basic_adaptive_spin<simulated_processor>;

constexpr auto at_once = [] { return glance::news; };
constexpr auto short_sleep = [] {
    simulated_processor::time += std::chrono::microseconds(60);
    return wait_result::ready;
};

class AdaptiveSpin : public testing::Test {
protected:
    AdaptiveSpin() { simulated_processor::meanwhile = nullptr; }
    ~AdaptiveSpin() override { simulated_processor::meanwhile = nullptr; }
};

// A spin that has seen short sleeps until it looks.
struct ready_spin : spin {
    ready_spin()
    {
        bool looked = false;
        for (int i = 0; i < 100 && !looked; ++i)
            wait(
                false, no_deadline,
                [&] {
                    looked = true;
                    return glance::news;
                },
                short_sleep);
        EXPECT_TRUE(looked);
    }
};

// Waits until the next look; how many sleeps there were before.
int sleeps_before_look(spin& subject, bool success)
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

TEST_F(AdaptiveSpin, sleeps_at_first)
{
    spin subject;
    EXPECT_EQ(wait_result::ready, subject.wait(false, no_deadline, at_once, short_sleep));
}

TEST_F(AdaptiveSpin, looks_on_while_that_finds_something)
{
    ready_spin subject;
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(wait_result::signalled, subject.wait(false, no_deadline, at_once, short_sleep))
            << i;
}

TEST_F(AdaptiveSpin, sleeps_when_a_look_finds_nothing)
{
    ready_spin subject;
    int looks = 0;
    const auto begin = simulated_processor::now();
    EXPECT_EQ(wait_result::ready, subject.wait(
                                      false, no_deadline,
                                      [&] {
                                          ++looks;
                                          return glance::nothing;
                                      },
                                      short_sleep));
    EXPECT_GT(looks, 0);
    EXPECT_GE(simulated_processor::now() - begin, tuning::spin::max_time);
}

TEST_F(AdaptiveSpin, a_look_goes_on_while_there_is_progress)
{
    ready_spin subject;
    const auto begin = simulated_processor::now();
    EXPECT_EQ(wait_result::signalled, subject.wait(
                                          false, no_deadline,
                                          [&] {
                                              return simulated_processor::now() - begin <
                                                             tuning::spin::max_time * 3
                                                         ? glance::progress
                                                         : glance::news;
                                          },
                                          short_sleep));
    EXPECT_EQ(0, sleeps_before_look(subject, true)) << "and was a good one";
}

TEST_F(AdaptiveSpin, looks_less_and_less_where_that_finds_nothing)
{
    ready_spin subject;
    // A few looks make a round; each of them ends in a sleep, which counts for the next round.
    std::vector<int> between_rounds;
    for (int looks = 0; between_rounds.size() < 5; ++looks) {
        ASSERT_LT(looks, 100);
        if (const int sleeps = sleeps_before_look(subject, false); sleeps > 0)
            between_rounds.push_back(sleeps);
    }
    EXPECT_EQ((std::vector{8 - 4, 16 - 3, 32 - 3, 64 - 3, 128 - 3}), between_rounds);
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

TEST_F(AdaptiveSpin, a_look_does_not_outlast_the_deadline)
{
    ready_spin subject;
    int looks = 0;
    subject.wait(
        false, simulated_processor::now(),
        [&] {
            ++looks;
            return glance::nothing;
        },
        short_sleep);
    EXPECT_EQ(1, looks);
}

TEST_F(AdaptiveSpin, progress_does_not_outlast_the_deadline)
{
    ready_spin subject;
    const auto until = simulated_processor::now() + tuning::spin::max_time * 2;
    EXPECT_EQ(wait_result::ready, subject.wait(
                                      false, until, [] { return glance::progress; }, short_sleep));
    EXPECT_GE(simulated_processor::now(), until);
}

TEST_F(AdaptiveSpin, a_stream_is_not_looked_for)
{
    ready_spin subject;
    EXPECT_EQ(wait_result::ready, subject.wait(true, no_deadline, at_once, short_sleep));
}

// --- one processor -------------------------------------------------------------------------------

/// Two threads share a processor: the other one brings the news while this one yields.
TEST_F(AdaptiveSpin, counts_what_its_waits_have_been)
{
    ready_spin subject;
    const auto sleeps = subject.counters().sleeps.value();
    EXPECT_EQ(1U, subject.counters().good_spins.value());
    subject.wait(
        false, no_deadline, [] { return glance::nothing; }, short_sleep);
    EXPECT_EQ(1U, subject.counters().failed_spins.value());
    EXPECT_EQ(sleeps + 1, subject.counters().sleeps.value());
}

class OnOneProcessor : public AdaptiveSpin {
protected:
    OnOneProcessor()
    {
        simulated_processor::meanwhile = [this] {
            simulated_processor::time += answer_time_;
            news_ = true;
        };
    }

    // Glances of one look.
    int look()
    {
        news_ = false;
        int glances = 0;
        EXPECT_EQ(wait_result::signalled, subject_.wait(
                                              false, no_deadline,
                                              [&] {
                                                  ++glances;
                                                  return news_ ? glance::news : glance::nothing;
                                              },
                                              short_sleep));
        return glances;
    }

    ready_spin subject_;
    bool news_ = false;
    std::chrono::nanoseconds answer_time_ = std::chrono::microseconds(1);
};

TEST_F(OnOneProcessor, gives_it_to_the_other_at_once)
{
    EXPECT_GT(look(), 2) << "a glance costs less than a yield";
    look();
    for (int i = 0; i < 10; ++i) // fewer than between two trials
        ASSERT_EQ(2, look()) << i;
}

TEST_F(OnOneProcessor, tries_now_and_then_whether_it_still_does)
{
    int without_yield = 0;
    for (int i = 0; i < 100; ++i)
        without_yield += look() > 2 ? 1 : 0;
    EXPECT_GT(without_yield, 2);
    EXPECT_LT(without_yield, 20);
}

TEST_F(OnOneProcessor, learns_from_one_yield_that_took_long)
{
    answer_time_ = std::chrono::microseconds(5);
    EXPECT_GT(look(), 2);
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(2, look()) << i;
}

TEST_F(OnOneProcessor, keeps_it_once_the_news_comes_from_elsewhere)
{
    for (int i = 0; i < 10; ++i)
        look();
    simulated_processor::meanwhile = nullptr;
    const auto from_elsewhere = [this] {
        const int yields_before = simulated_processor::yields;
        int glances = 0;
        EXPECT_EQ(wait_result::signalled,
                  subject_.wait(
                      false, no_deadline,
                      [&] { return ++glances < 10 ? glance::nothing : glance::news; },
                      short_sleep));
        return simulated_processor::yields - yields_before;
    };
    from_elsewhere();
    EXPECT_EQ(0, from_elsewhere());
}

// --- signals -------------------------------------------------------------------------------------

volatile std::sig_atomic_t handled = 0;

class SignalWhileLooking : public AdaptiveSpin {
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
        ready_spin subject;
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
