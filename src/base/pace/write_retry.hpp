// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/trial_interval.hpp"
#include "base/wait/waiter.hpp"

#include <chrono>
#include <thread>

namespace zlink::base {

/// Decides how long a sending thread waits for a reader that has not caught up, and waits: as long
/// as a slow reader would take for a large message without progress, and not much longer in all. If
/// that was in vain the next stalls are not waited for; where nothing moves at all, ever more of
/// them. See docs/decisions/0014.
///
/// Thread safety: one thread at a time.
class write_retry {
public:
    enum class step : unsigned char { nothing, progress, done };

    /// How long nothing may move.
    explicit write_retry(std::chrono::microseconds longest_stall = std::chrono::microseconds(300))
        : longest_stall_(longest_stall)
    {}

    /// Calls `attempt()`, which returns a step, until all is done or it has waited long enough.
    /// False if it was not called, as that has been in vain lately.
    template <class Attempt>
    bool wait(Attempt attempt) noexcept
    {
        if (stalls_to_pass_ > 0) {
            --stalls_to_pass_;
            return false;
        }
        const auto begin = steady_clock::now();
        auto progress = begin;
        auto now = begin;
        unsigned in_vain = 0;
        for (unsigned i = 0; i < fewest_attempts || now - begin < longest_wait; ++i) {
            std::this_thread::yield(); // to the reader, if it shares the processor
            const step made = attempt();
            if (made == step::done) {
                stalls_after_vain_wait_.shorten();
                break;
            }
            now = steady_clock::now();
            if (made == step::progress) {
                progress = now;
                in_vain = 0;
                stalls_after_vain_wait_.shorten();
            } else if (++in_vain >= fewest_attempts_in_vain && now - progress >= longest_stall_) {
                stalls_to_pass_ = stalls_after_vain_wait_.lengthen();
                break;
            }
        }
        return true;
    }

private:
    static constexpr std::chrono::milliseconds longest_wait{1};
    // The reader may have to wait for a processor as well.
    static constexpr unsigned fewest_attempts = 16;
    static constexpr unsigned fewest_attempts_in_vain = 4;

    const std::chrono::microseconds longest_stall_;
    unsigned stalls_to_pass_ = 0; ///< before the next one is waited for
    trial_interval<1, 64> stalls_after_vain_wait_;
};

} // namespace zlink::base
