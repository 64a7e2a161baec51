// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.hpp"
#include "base/pace/trial_interval.hpp"
#include "base/rules.hpp"
#include "base/system/held_signals.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace zlink::base {

/// What a look has found.
enum class glance : unsigned char {
    nothing,
    progress, ///< no news yet, but more of what will be news: a part of a large message
    news,
};

/// The processor a thread runs on; tests have one whose time they decide.
struct this_processor {
    static steady_clock::time_point now() noexcept { return steady_clock::now(); }
    static void yield() noexcept { std::this_thread::yield(); }
};

/// Adaptive spin, then park: a sleep and its wake-up cost both threads several us, on a virtual
/// machine some 50. Spinning starts after several short sleeps in a row, goes on while most spins
/// succeed within half the time of a wake-up, and otherwise backs off exponentially. See
/// docs/decisions/0013.
///
/// Thread safety: one thread at a time.
template <class Processor>
class basic_adaptive_spin {
public:
    /// Waits, with `sleep()`, after a look if that is worth its time. `found()` tells by a glance
    /// whether there is news; `in_stream`: news come whether this thread answers or not.
    /// `signalled` if found() said so, `interrupted` if a signal handler ran while looking, else
    /// what sleep() returned.
    template <class Found, class Sleep>
    wait_result wait(bool in_stream, deadline until, Found found, Sleep sleep)
    {
        if (in_stream || !rule_is_on(rule::spin)) {
            counters_.sleeps.add();
            return sleep();
        }
        if (credit_ > 0) {
            const auto seen = look(until, found);
            (seen == wait_result::signalled ? counters_.good_spins : counters_.failed_spins).add();
            if (seen != wait_result::timeout)
                return seen;
        }
        counters_.sleeps.add();
        const auto begin = Processor::now();
        const wait_result woken = sleep();
        slept(Processor::now() - begin);
        return woken;
    }

    /// What the waits have been so far. Counted by the thread that waits; any thread reads.
    struct wait_counters {
        counter good_spins; ///< that found something
        counter failed_spins;
        counter sleeps;
    };
    const wait_counters& counters() const noexcept { return counters_; }

private:
    template <class Found>
    wait_result look(deadline until, Found& found)
    {
        const held_signals held; // one that comes now has to end the wait, as it does a sleep
        auto begin = Processor::now();
        auto yielded = begin;
        const bool gives_way = gives_way_at_once();
        unsigned yields = 0;
        bool just_yielded = false;
        for (bool first = true;; first = false) {
            const glance seen = found();
            const bool success = seen == glance::news;
            const auto now = Processor::now();
            if (seen == glance::progress && now < until)
                begin = now;
            if (success || now >= std::min(until, begin + tuning::spin::max_time)) {
                looked(success &&
                       now - begin <= std::max<std::chrono::nanoseconds>(
                                          tuning::spin::always_good_time, usual_sleep_ / 2));
                if (success && !first)
                    by_first_yield_ =
                        just_yielded && yields == 1
                            ? std::min(by_first_yield_ + 1, tuning::spin::spins_by_yield)
                            : 0;
                if (success)
                    return wait_result::signalled;
                return held.waiting() ? wait_result::interrupted : wait_result::timeout;
            }
            just_yielded =
                gives_way || shares_processor_ || now - yielded >= tuning::spin::between_yields;
            if (just_yielded) {
                ++yields;
                Processor::yield(); // whoever is to bring the news may want this processor
                yielded = Processor::now();
                shares_processor_ = yielded - now >= tuning::spin::between_yields;
            }
        }
    }

    // If the event came right after the first sched_yield() of several spins in a row, its producer
    // shares this processor, and the next spins yield at once. Now and then one tries without.
    bool gives_way_at_once() noexcept
    {
        return by_first_yield_ == tuning::spin::spins_by_yield &&
               ++looks_ % tuning::spin::spins_between_trials != 0;
    }

    void looked(bool well) noexcept
    {
        if (well) {
            credit_ = std::min(credit_ + 1, tuning::spin::max_credit);
            if (credit_ == tuning::spin::max_credit)
                short_sleeps_needed_.reset();
            return;
        }
        credit_ -= tuning::spin::cost_of_bad_spin;
        if (credit_ <= 0)
            short_sleeps_needed_.lengthen();
    }

    void slept(std::chrono::nanoseconds time) noexcept
    {
        if (time > tuning::spin::short_sleep) {
            short_sleeps_ = 0;
            return;
        }
        ++short_sleeps_;
        usual_sleep_ += (time - usual_sleep_) / 4;
        if (short_sleeps_ < short_sleeps_needed_.length() || credit_ > 0)
            return;
        credit_ = tuning::spin::first_credit;
        short_sleeps_ = 0;
    }

    wait_counters counters_;
    std::chrono::nanoseconds usual_sleep_{}; ///< moving average of short ones
    int credit_ = 0;                         ///< no looks without any
    bool shares_processor_ = false;          ///< another thread ran during the last yield
    unsigned by_first_yield_ = 0;            ///< looks in a row whose first yield brought the news
    unsigned looks_ = 0;                     ///< since there have been enough of them
    unsigned short_sleeps_ = 0;
    trial_interval<tuning::spin::min_short_sleeps, tuning::max_trial_interval>
        short_sleeps_needed_; ///< until looks are tried
};

using adaptive_spin = basic_adaptive_spin<this_processor>;

} // namespace zlink::base
