// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace zlink::base {

using steady_clock = std::chrono::steady_clock;
using deadline = steady_clock::time_point;
inline constexpr deadline no_deadline = deadline::max();

/// deadline for a timeout in ms: negative = never.
inline deadline deadline_after_ms(std::int64_t timeout_ms) noexcept
{
    if (timeout_ms < 0)
        return no_deadline;
    return steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

enum class wait_result : std::uint8_t { signalled, timeout, interrupted };

/// One thread sleeping, any number waking it. Signals are counted; a wait returns when the count
/// has moved past what the sleeper has seen.
class waiter {
public:
    /// The count of signals so far.
    std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
    /// Sleeps until the count differs from `seen`. `interrupted`: a signal handler ran.
    wait_result wait(std::uint32_t seen, deadline until) noexcept;
    /// Wakes the sleeper. The object may be gone as soon as the sleeper sees the count.
    void signal() noexcept;
    /// Waits, without sleeping for long, for `signals` more signals that are known to be under way.
    void absorb(std::uint32_t seen, std::uint32_t signals) noexcept;

private:
    std::atomic<std::uint32_t> count_{0};
};

} // namespace zlink::base
