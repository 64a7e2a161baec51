// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/trial_interval.hpp"
#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"

#include <chrono>
#include <thread>

namespace zlink::base {

/// Lets a sending thread wait for a slow reader: as long as that takes for a large message, and
/// less if there is no progress. After a wait in vain the next stalls are not waited for: ever more
/// of them as long as nothing moves. See docs/decisions/0014.
///
/// Thread safety: one thread at a time.
class write_retry {
public:
    enum class step : unsigned char { nothing, progress, done };

    /// How long nothing may move.
    explicit write_retry(std::chrono::microseconds longest_stall = tuning::write_retry::max_stall)
        : longest_stall_(longest_stall)
    {}

    /// Calls `attempt()`, which returns a step, until all is done or it has waited long enough.
    /// False if it was not called, as that has been in vain lately.
    template <class Attempt>
    bool wait(Attempt attempt) noexcept
    {
        if (!rule_is_on(rule::write_retry))
            return false;
        if (stalls_to_pass_ > 0) {
            --stalls_to_pass_;
            return false;
        }
        const auto begin = steady_clock::now();
        auto progress = begin;
        auto now = begin;
        unsigned in_vain = 0;
        for (unsigned i = 0;
             i < tuning::write_retry::min_attempts || now - begin < tuning::write_retry::max_wait;
             ++i) {
            std::this_thread::yield(); // to the reader, if it shares the processor
            const step made = attempt();
            if (made == step::done) {
                stalls_after_vain_wait_.reset();
                break;
            }
            now = steady_clock::now();
            if (made == step::progress) {
                progress = now;
                in_vain = 0;
                stalls_after_vain_wait_.reset();
            } else if (++in_vain >= tuning::write_retry::min_vain_attempts &&
                       now - progress >= longest_stall_) {
                stalls_to_pass_ = stalls_after_vain_wait_.lengthen();
                break;
            }
        }
        return true;
    }

private:
    const std::chrono::microseconds longest_stall_;
    unsigned stalls_to_pass_ = 0; ///< before the next one is waited for
    trial_interval<1, tuning::write_retry::max_passed_stalls> stalls_after_vain_wait_;
};

} // namespace zlink::base
