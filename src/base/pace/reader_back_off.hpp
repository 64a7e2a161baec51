// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/trial_interval.hpp"
#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"

#include <chrono>
#include <cstdint>

namespace zlink::base {

/// Decides whether a reader that has caught up with a writer on another processor takes a break
/// before it looks for more.
///
/// Who reads each message the moment it is written takes the cache line that tells of it away from
/// the writer each time, and both go at the pace of that line. In a break the writer commits dozens
/// undisturbed. Where messages come fast and looks find few, breaks are tried; they go on while
/// messages come faster with them than without, and are tried ever less often where they do not.
/// See docs/decisions/0017.
///
/// Thread safety: one thread at a time.
class reader_back_off {
public:
    /// The reader has taken all it knew of, `taken` messages since the beginning, and is going to
    /// look. Should it take a break first? `now()` tells the time; it is asked now and then only.
    template <class Now>
    bool wants_break(std::uint64_t taken, Now now)
    {
        if (remaining_looks_-- == 0) [[unlikely]]
            end_window(taken, now());
        return breaks_ && rule_is_on(rule::back_off);
    }
    bool wants_break(std::uint64_t taken)
    {
        return wants_break(taken, [] { return steady_clock::now(); });
    }

    /// A break, or some more until `look()` finds something: to sleep would cost both sides more.
    template <class Look>
    static void take_breaks(Look look)
    {
        for (int breaks = 0; breaks < tuning::back_off::max_breaks; ++breaks) {
            const auto until = steady_clock::now() + tuning::back_off::break_time;
            while (steady_clock::now() < until)
                ; // touches nothing that the writer needs
            if (look())
                return;
        }
    }

private:
    using duration = steady_clock::duration;

    void end_window(std::uint64_t taken, steady_clock::time_point now)
    {
        const std::uint64_t messages = taken - taken_before_;
        const duration each =
            messages ? (now - begin_) / static_cast<duration::rep>(messages) : duration::max();
        if (breaks_)
            judge_breaks(each);
        else if (each < tuning::back_off::max_message_time &&
                 messages <
                     tuning::back_off::max_messages_per_read * tuning::back_off::reads_in_window &&
                 windows_until_try_-- <= 1)
            begin_breaks(each);
        taken_before_ = taken;
        begin_ = now;
        remaining_looks_ =
            breaks_ ? tuning::back_off::breaks_in_window : tuning::back_off::reads_in_window;
    }
    void begin_breaks(duration each) noexcept
    {
        each_without_ = each;
        breaks_ = true;
        windows_with_breaks_ = 0;
    }
    void judge_breaks(duration each) noexcept
    {
        ++windows_with_breaks_;
        const bool in_vain = each > each_without_ * 9 / 10;
        if (!in_vain && windows_with_breaks_ < tuning::max_windows_of_trial)
            return;
        breaks_ = false;
        windows_until_try_ = windows_with_breaks_ < tuning::back_off::min_good_windows
                                 ? windows_between_tries_.lengthen()
                                 : windows_between_tries_.reset();
    }

    unsigned remaining_looks_ = tuning::back_off::reads_in_window;
    bool breaks_ = false;
    std::uint64_t taken_before_ = 0; ///< the window
    steady_clock::time_point begin_{};
    duration each_without_{}; ///< time from message to message without breaks
    unsigned windows_with_breaks_ = 0;
    unsigned windows_until_try_ = 1;
    trial_interval<1, tuning::max_trial_interval> windows_between_tries_;
};

} // namespace zlink::base
