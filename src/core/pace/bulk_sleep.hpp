// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/trial_interval.hpp"
#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zlink::core {

/// Decides whether a thread that reads a connection by itself sleeps at once when there is nothing
/// to read, rather than look for a while first.
///
/// In a dialogue the other side waits for this one: to look is best. In a stream of large messages
/// it does not: what it sends while this thread sleeps and wakes up lies in the connection, so the
/// looks only cost processor time. A stream shows in messages with which a part of the next one has
/// come. Where there are such, sleeping is tried; it goes on while there are and messages come as
/// fast as with looks, and is tried ever less often where they do not. See docs/decisions/0019.
///
/// Thread safety: one thread at a time.
class bulk_sleep {
public:
    bool sleeps() const noexcept
    {
        return base::rule_is_on(base::rule::bulk_sleep) && state_ != state::looks;
    }

    /// A read has moved `bytes` bytes and completed so many messages; `followed`: with a part of
    /// one more behind them, or several. `now()` tells the time; it is asked now and then only.
    template <class Now>
    void note(std::uint64_t messages, std::size_t bytes, bool followed, Now now)
    {
        bytes_ += bytes;
        if (messages == 0)
            return;
        messages_ += messages;
        any_followed_ |= followed;
        if (messages_ >= tuning::bulk_sleep::messages_in_window ||
            (state_ == state::tries && messages_ >= tuning::bulk_sleep::messages_in_trial))
            end_window(now());
    }

private:
    enum class state : std::uint8_t { looks, tries, sleeps };
    using time_point = base::steady_clock::time_point;

    void end_window(time_point now) noexcept
    {
        const double ns_per_byte = std::chrono::duration<double, std::nano>(now - begin_).count() /
                                   static_cast<double>(bytes_);
        const bool followed = std::exchange(any_followed_, false);
        switch (state_) {
        case state::looks:
            if (windows_until_try_ > 0)
                --windows_until_try_;
            else if (followed && bytes_ >= messages_ * tuning::batching::min_unbatched_bytes)
                try_sleeping(ns_per_byte);
            break;
        case state::tries:
            tried_ns_per_byte_ += ns_per_byte / tuning::bulk_sleep::windows_of_trial;
            followed_in_try_ |= followed;
            if (ns_per_byte > looking_ns_per_byte_ * tuning::bulk_sleep::max_window_ratio)
                look_again();
            else if (++windows_asleep_ == tuning::bulk_sleep::windows_of_trial)
                end_try();
            break;
        case state::sleeps:
            if (++windows_asleep_ == tuning::max_windows_of_trial || !followed ||
                ns_per_byte > looking_ns_per_byte_ * tuning::bulk_sleep::max_window_ratio)
                look_again();
            break;
        }
        begin_ = now;
        bytes_ = 0;
        messages_ = 0;
    }

    void try_sleeping(double looking_ns_per_byte) noexcept
    {
        looking_ns_per_byte_ = looking_ns_per_byte;
        tried_ns_per_byte_ = 0;
        followed_in_try_ = false;
        windows_asleep_ = 0;
        state_ = state::tries;
    }

    void end_try() noexcept
    {
        if (!followed_in_try_ ||
            tried_ns_per_byte_ > looking_ns_per_byte_ * tuning::bulk_sleep::max_trial_ratio)
            return look_again();
        windows_asleep_ = 0;
        state_ = state::sleeps;
    }

    void look_again() noexcept
    {
        windows_until_try_ = state_ == state::tries ? windows_between_tries_.lengthen()
                                                    : windows_between_tries_.reset();
        state_ = state::looks;
    }

    state state_ = state::looks;
    base::trial_interval<1, tuning::max_trial_interval> windows_between_tries_;
    unsigned windows_until_try_ = 1; ///< whole ones: the time of the first is not known
    unsigned windows_asleep_ = 0;
    double looking_ns_per_byte_ = 0;
    double tried_ns_per_byte_ = 0;
    bool followed_in_try_ = false;

    // the window
    time_point begin_{};
    std::uint64_t messages_ = 0;
    std::size_t bytes_ = 0;
    bool any_followed_ = false;
};

} // namespace zlink::core
