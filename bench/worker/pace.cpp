// SPDX-License-Identifier: Apache-2.0
#include "worker/pace.hpp"

#include "worker/usage.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace zlink::bench::worker {

pace::pace(double per_second, std::function<std::int64_t()> clock)
    : clock_(clock ? std::move(clock) : now_ns), interval_ns_(1e9 / per_second)
{}

void pace::start(double share_of_interval)
{
    // Else the kernel adds 50 us to each sleep, to wake several threads at once.
    prctl(PR_SET_TIMERSLACK, 1);
    taken_ = 0;
    known_ns_ = clock_();
    start_ns_ = known_ns_ + static_cast<std::int64_t>(share_of_interval * interval_ns_);
    woken_ns_ = start_ns_;
}

std::optional<std::int64_t> pace::take_due()
{
    const std::int64_t due = next_due_ns();
    // The clock is only asked when those are taken that were due at the last time.
    if (due > known_ns_) {
        known_ns_ = clock_();
        if (due > known_ns_) {
            return std::nullopt;
        }
    }
    ++taken_;
    return std::max(due, woken_ns_);
}

void pace::slept()
{
    known_ns_ = clock_();
    woken_ns_ = known_ns_;
}

std::int64_t pace::wait()
{
    for (;;) {
        if (const auto from = take_due()) {
            return *from;
        }
        const std::int64_t until = next_due_ns();
        const timespec time{until / 1'000'000'000, until % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
        slept();
    }
}

} // namespace zlink::bench::worker
