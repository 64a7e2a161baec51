// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/adaptive_spin.hpp"
#include "base/system/held_signals.hpp"
#include "base/wait/waiter.hpp"

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <optional>
#include <pthread.h>

namespace zlink::base {

/// What a thread that waits has found by polling.
class poll_answer {
public:
    /// It is over: with 0 because what is waited for is ready, or with an errno value.
    static constexpr poll_answer ended(int error) noexcept { return {state::ended, error}; }
    /// Nothing is ready: the thread may sleep.
    static constexpr poll_answer nothing() noexcept { return {state::nothing, EAGAIN}; }
    /// Nothing was ready, but events have been processed meanwhile that may concern what was polled
    /// before them: poll again instead of sleeping.
    static constexpr poll_answer changed() noexcept { return {state::changed, EAGAIN}; }

    constexpr bool is_end() const noexcept { return state_ == state::ended; }
    constexpr bool has_changed() const noexcept { return state_ == state::changed; }
    constexpr int error() const noexcept { return error_; }

private:
    enum class state : unsigned char { ended, nothing, changed };
    constexpr poll_answer(state what, int error) noexcept : error_(error), state_(what) {}

    int error_;
    state state_;
};

/// How the thread sleeps. Any event that comes after the last poll has to end the sleep.
template <class T, class Processor>
concept sleeper = requires(T each, deadline until)
{
    /// Makes ready for a sleep. False if events have come of it: poll again.
    {
        each.prepare()
        } -> std::same_as<bool>;
    /// By which it spins before it sleeps, and learns whether that pays; null: it does not spin.
    {
        each.spin()
        } -> std::same_as<basic_adaptive_spin<Processor>*>;
    /// Do events come whether this thread answers or not?
    {
        each.in_stream()
        } -> std::same_as<bool>;
    /// Is there an event? Asked again and again while it spins.
    {
        each.check()
        } -> std::same_as<glance>;
    {
        each.sleep(until)
        } -> std::same_as<wait_result>;
};

/// One wait of a thread: polls and sleeps in turn until something is ready, time is up, or a signal
/// handler has run.
///
/// - Before each sleep, and before it gives up without one, it has what the thread has batched
///   written: the answer to that may be what it waits for. Never once something is ready.
/// - The end of the time is fixed when it begins: events that change nothing do not put it off.
///   Neither do they keep signals out: when the second poll in a row has changed something and
///   found nothing, it writes too, and holds signals, so that one that comes between two polls is
///   not overlooked.
/// - What is ready counts more than a signal or the end of the time: it polls once more after each
///   sleep.
/// - Sleeps are cancellation points, and so is each turn.
///
/// Thread safety: one thread.
template <class Processor>
class basic_blocking_wait {
public:
    /// `timeout_ms`: 0 is not to sleep, less is for ever. `sleeps_anyhow`: one sleep, if only for
    /// no time, which lets signals in that were blocked before.
    explicit basic_blocking_wait(std::int64_t timeout_ms, bool sleeps_anyhow = false)
        : until_(deadline_after_ms<Processor>(timeout_ms)),
          may_sleep_(timeout_ms != 0 || sleeps_anyhow)
    {}

    /// Polls by `ready()`, which returns a poll_answer, and writes by `flush()`. Returns the errno
    /// value by which ready() has ended it, EAGAIN after the time-out, or EINTR.
    template <class Ready, class Flush, sleeper<Processor> Sleeper>
    int run(Ready&& ready, Flush&& flush, Sleeper& how)
    {
        pthread_testcancel();
        const poll_answer first = ready();
        return first.is_end() ? first.error() : run_after(first, ready, flush, how);
    }

    /// The same for a caller that has polled already, with this answer.
    template <class Ready, class Flush, sleeper<Processor> Sleeper>
    int run_after(poll_answer last, Ready&& ready, Flush&& flush, Sleeper& how)
    {
        std::optional<held_signals> held;
        bool is_flushed = false;
        unsigned changes_in_a_row = 0;
        wait_result woken = may_sleep_ ? wait_result::signalled : wait_result::timeout;
        for (bool is_first = true;; is_first = false) {
            pthread_testcancel();
            if (woken == wait_result::interrupted || (held && held->waiting()))
                return EINTR;
            if (woken == wait_result::timeout || (!is_first && is_time_up())) {
                if (!is_flushed)
                    flush();
                return EAGAIN;
            }
            changes_in_a_row = last.has_changed() ? changes_in_a_row + 1 : 0;
            if (changes_in_a_row == 0) {
                held.reset();
                flush();
                is_flushed = true;
                woken = sleep(how);
            } else {
                woken = wait_result::signalled;
                if (changes_in_a_row == 2) { // they may go on for ever
                    flush();
                    is_flushed = true;
                    held.emplace();
                }
            }
            last = ready();
            if (last.is_end())
                return last.error();
        }
    }

private:
    bool is_time_up() const { return until_ != no_deadline && Processor::now() >= until_; }

    // One copy of it for all that a thread waits for in the same way.
    template <class Sleeper>
    [[gnu::noinline]] wait_result sleep(Sleeper& how)
    {
        if (!how.prepare())
            return wait_result::signalled;
        const auto asleep = [&] { return how.sleep(until_); };
        auto* const spin = how.spin();
        return spin ? spin->wait(
                          how.in_stream(), until_, [&] { return how.check(); }, asleep)
                    : asleep();
    }

    const deadline until_;
    const bool may_sleep_;
};

using blocking_wait = basic_blocking_wait<this_processor>;

} // namespace zlink::base
