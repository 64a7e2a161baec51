// SPDX-License-Identifier: Apache-2.0
#include "base/wait/waiter.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace zlink::base {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

namespace {

// As a cancellation point of the C library does it: a request acts at once during the system call.
// There is nothing to be cleaned up here, so that it does not matter at which instruction.
[[gnu::noinline]] long sleep_on(const void* word, std::uint32_t seen, const timespec& limit)
{
    int type = PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC, which steady_clock is.
    const long result = ::syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &limit, nullptr,
                                  FUTEX_BITSET_MATCH_ANY);
    const int reason = errno;
    pthread_setcanceltype(type, nullptr);
    errno = reason;
    return result;
}

} // namespace

wait_result waiter::wait(std::uint32_t seen, deadline until)
{
    // Always with a limit, though no_deadline never comes: without one, a signal handler that asks
    // for restarted calls (SA_RESTART, as signal() does) would not end the wait.
    const auto ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
    timespec limit{};
    limit.tv_sec = static_cast<std::time_t>(ns / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    while (count() == seen) {
        const long result = sleep_on(&count_, seen, limit);
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

wait_result waiter::poll(std::uint32_t seen, deadline until, const polling& how)
{
    // Without an alarm: short at first, for an answer that is on its way.
    auto slice = std::chrono::milliseconds(1);
    pollfd& alarm = how.descriptors.front();
    alarm = {how.alarm ? how.alarm->descriptor() : -1, POLLIN, 0};
    while (count() == seen) {
        deadline look_at = until;
        if (!how.alarm) {
            look_at = std::min(until, steady_clock::now() + slice);
            slice = std::min(2 * slice, tuning::direct_reading::max_poll_slice);
        }
        timespec remaining{};
        const int result =
            ::ppoll(how.descriptors.data(), how.descriptors.size(),
                    remaining_time(look_at, remaining) ? &remaining : nullptr, how.mask);
        if (alarm.revents != 0)
            break;
        if (result != 0)
            return result > 0 ? wait_result::ready : wait_result::interrupted;
        if (look_at == until)
            return count() == seen ? wait_result::timeout : wait_result::signalled;
    }
    return wait_result::signalled;
}

void waiter::end_polling(const polling& how, bool signals) noexcept
{
    if (!how.alarm)
        return;
    alarm_ = nullptr;
    if (signals || how.descriptors.front().revents != 0)
        how.alarm->clear();
}

void waiter::signal() noexcept
{
    if (alarm_) {
        // The descriptor first: it may be gone as soon as the sleeper sees the count.
        alarm_->signal();
        count_.fetch_add(1, std::memory_order_acq_rel);
        return;
    }
    // The address is all that is used after the count has moved: waking an address nobody waits on
    // any more is harmless.
    std::atomic<std::uint32_t>* const address = &count_;
    count_.fetch_add(1, std::memory_order_acq_rel);
    ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void waiter::absorb(std::uint32_t signals) noexcept
{
    absorbed_ += signals;
    const auto missing = [this] {
        // In this order: one beside is counted there first, so here too many are missing, if any.
        const std::uint32_t all = count();
        const std::uint32_t awaited = all - beside_.load(std::memory_order_acquire);
        return static_cast<std::int32_t>(absorbed_ - awaited) > 0;
    };
    while (missing())
        std::this_thread::yield();
}

} // namespace zlink::base
