// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/write_retry.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"

#include <algorithm>

namespace zlink::base {

/// Limits the time that a thread with several peers spends on waiting for those that do not keep up
/// with it (write_retry), because its other peers wait meanwhile. In the long run the waits take a
/// quarter of the time between them, so a slow peer costs the others a fifth of their rate at most.
/// A peer that reads nothing costs far less, as write_retry passes over most of its stalls.
///
/// Thread safety: one thread at a time.
class wait_budget {
public:
    using time_point = steady_clock::time_point;

    /// Of the calling thread; null if there is no memory for one.
    static wait_budget* of_this_thread() noexcept;

    /// May the thread wait at `now`? It earns a share of the time that has passed since its last
    /// wait, up to the length of one wait, and may go into debt with the next one.
    bool may_wait(time_point now) noexcept
    {
        left_ =
            std::min<duration>(left_ + (now - earned_until_) / tuning::write_retry::time_per_wait,
                               tuning::write_retry::max_wait);
        earned_until_ = now;
        return left_ > duration::zero();
    }
    void waited(time_point begin, time_point end) noexcept
    {
        left_ -= end - begin;
        earned_until_ = end;
    }

private:
    using duration = steady_clock::duration;

    duration left_ = tuning::write_retry::max_wait;
    time_point earned_until_{};
};

/// write_retry::wait() for one of several peers, as far as the budget of the thread allows it.
template <class Attempt>
bool wait_for_one_of_several(write_retry& retry, Attempt attempt) noexcept
{
    wait_budget* const budget = wait_budget::of_this_thread();
    const auto begin = steady_clock::now();
    if (!budget || !budget->may_wait(begin) || !retry.wait(attempt))
        return false;
    budget->waited(begin, steady_clock::now());
    return true;
}

} // namespace zlink::base
