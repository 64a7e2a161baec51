// SPDX-License-Identifier: Apache-2.0
#include "base/waiter.hpp"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace zlink::base {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

wait_result waiter::wait(std::uint32_t seen, deadline until) noexcept
{
    timespec at{};
    timespec* limit = nullptr;
    if (until != no_deadline) {
        const auto ns =
            std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
        at.tv_sec = static_cast<std::time_t>(ns / 1'000'000'000);
        at.tv_nsec = static_cast<long>(ns % 1'000'000'000);
        limit = &at;
    }
    while (count() == seen) {
        // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, which steady_clock is.
        const long result = ::syscall(SYS_futex, &count_, FUTEX_WAIT_BITSET_PRIVATE, seen, limit,
                                      nullptr, FUTEX_BITSET_MATCH_ANY);
        if (result == 0 || errno == EAGAIN)
            continue;
        if (errno == ETIMEDOUT)
            return count() == seen ? wait_result::timeout : wait_result::signalled;
        if (errno == EINTR)
            return count() == seen ? wait_result::interrupted : wait_result::signalled;
        return wait_result::interrupted;
    }
    return wait_result::signalled;
}

void waiter::signal() noexcept
{
    // The address is all that is used after the count has moved: waking an address nobody waits on
    // any more is harmless.
    std::atomic<std::uint32_t>* const address = &count_;
    count_.fetch_add(1, std::memory_order_acq_rel);
    ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void waiter::absorb(std::uint32_t seen, std::uint32_t signals) noexcept
{
    while (count() - seen < signals)
        std::this_thread::yield();
}

} // namespace zlink::base
