// SPDX-License-Identifier: Apache-2.0
#include "base/waiter.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace zlink::base {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

wait_result waiter::wait(std::uint32_t seen, deadline until) noexcept
{
    // Always with a limit, though no_deadline never comes: without one, a signal handler that asks
    // for restarted calls (SA_RESTART, as signal() does) would not end the wait.
    const auto ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
    timespec limit{};
    limit.tv_sec = static_cast<std::time_t>(ns / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    while (count() == seen) {
        // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, which steady_clock is.
        const long result = ::syscall(SYS_futex, &count_, FUTEX_WAIT_BITSET_PRIVATE, seen, &limit,
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

bool waiter::begin_polling() noexcept
{
    return polling_ = alarm_.open() == 0;
}

wait_result waiter::poll(std::uint32_t seen, deadline until, std::span<const int> others) noexcept
{
    pollfd watched[1 + most_others];
    nfds_t used = 0;
    watched[used++] = {alarm_.descriptor(), POLLIN, 0};
    for (const int fd : others.first(std::min(others.size(), most_others)))
        watched[used++] = {fd, POLLIN, 0};
    timespec left{};
    const int result = ::ppoll(watched, used, time_left(until, left) ? &left : nullptr, nullptr);
    if (count() != seen || (result > 0 && watched[0].revents != 0))
        return wait_result::signalled;
    if (result == 0)
        return wait_result::timeout;
    return result > 0 ? wait_result::ready : wait_result::interrupted;
}

void waiter::end_polling(std::uint32_t signals) noexcept
{
    polling_ = false;
    if (signals)
        alarm_.clear();
}

void waiter::signal() noexcept
{
    if (polling_) {
        // The descriptor first: it may be gone as soon as the sleeper sees the count.
        alarm_.signal();
        count_.fetch_add(1, std::memory_order_acq_rel);
        return;
    }
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
