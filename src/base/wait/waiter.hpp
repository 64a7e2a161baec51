// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/descriptor_wakeup.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <poll.h>
#include <span>

namespace zlink::base {

using steady_clock = std::chrono::steady_clock;
using deadline = steady_clock::time_point;
inline constexpr deadline no_deadline = deadline::max();

/// deadline for a timeout in ms: negative = never, and so is more than a hundred years.
template <class Clock = steady_clock>
deadline deadline_after_ms(std::int64_t timeout_ms) noexcept
{
    constexpr std::int64_t never_ms = std::int64_t{100} * 365 * 24 * 3600 * 1000;
    if (timeout_ms < 0 || timeout_ms > never_ms)
        return no_deadline;
    return Clock::now() + std::chrono::milliseconds(timeout_ms);
}

enum class wait_result : std::uint8_t { signalled, timeout, interrupted, ready };

/// The time left until then, not less than none; false if there is no end of it.
inline bool remaining_time(deadline until, timespec& remaining) noexcept
{
    if (until == no_deadline)
        return false;
    const auto ns = std::max<std::chrono::nanoseconds>(until - steady_clock::now(), {});
    remaining.tv_sec = static_cast<std::time_t>(ns.count() / 1'000'000'000);
    remaining.tv_nsec = static_cast<long>(ns.count() % 1'000'000'000);
    return true;
}

/// What ends a sleep besides signals.
struct polling {
    /// The first is the place of the alarm, the others are as in poll(2), which fills them in.
    std::span<pollfd> descriptors;
    /// Becomes readable with a signal. Null if none can be had: then the sleeper wakes every few ms
    /// and looks whether there was a signal.
    descriptor_wakeup* alarm = nullptr;
    const sigset_t* mask = nullptr; ///< of signals, in force while it sleeps; null: as it is
};

/// Threads sleeping, any number waking them. Signals are counted; a wait returns when the count has
/// moved past what the sleeper has seen.
class waiter final : public wakeup {
public:
    waiter() = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    /// The count of signals so far.
    std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
    /// Sleeps until the count differs from `seen`. `interrupted`: a signal handler ran. A
    /// cancellation point, as poll() is: the stack may be unwound from here.
    wait_result wait(std::uint32_t seen, deadline until);
    /// Wakes all sleepers. The object may be gone as soon as a sleeper sees the count.
    void signal() noexcept override;
    /// As signal(), but absorb() does not take it for one of those that it waits for. The object
    /// must outlive the call.
    void signal_beside() noexcept
    {
        beside_.fetch_add(1, std::memory_order_acq_rel);
        signal();
    }
    /// Waits, without sleeping for long, for `signals` more signals that are known to be under way.
    /// All signals have to be absorbed, but those beside.
    void absorb(std::uint32_t signals) noexcept;

    // Waiting for descriptors as well: the sleeper calls begin_polling() before it announces its
    // sleep, poll(), and end_polling() once it has taken the announcement back and absorbed the
    // signals. Nobody else may signal meanwhile.

    /// From now on a signal makes the alarm readable, if there is one.
    void begin_polling(const polling& how) noexcept
    {
        if (how.alarm)
            alarm_ = how.alarm;
    }
    /// As wait(), or until one of the descriptors is `ready`. `interrupted`: errno tells by what.
    wait_result poll(std::uint32_t seen, deadline until, const polling& how);
    /// `signals`: were there any?
    void end_polling(const polling& how, bool signals) noexcept;

private:
    std::atomic<std::uint32_t> count_{0};
    std::atomic<std::uint32_t> beside_{0};
    std::uint32_t absorbed_ = 0;
    /// For the signaller too: it learns of the sleeper later than this is set.
    descriptor_wakeup* alarm_ = nullptr;
};

} // namespace zlink::base
