// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/sync/asymmetric_fence.hpp"

#include <atomic>
#include <cstdint>

namespace zlink::base {

/// A mutex for calls that are short and seldom at the same time. unlock() costs no atomic
/// read-modify-write; a thread that has to wait pays for that with a heavy fence.
/// Usable with std::lock_guard. Not fair, not recursive.
/// Lifetime: until the last unlock() has returned, which may be after another thread has locked it.
class asymmetric_mutex {
public:
    asymmetric_mutex() = default;
    asymmetric_mutex(const asymmetric_mutex&) = delete;
    asymmetric_mutex& operator=(const asymmetric_mutex&) = delete;

    bool try_lock() noexcept
    {
        std::uint32_t seen = unlocked;
        return state_.compare_exchange_strong(seen, locked, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    void lock() noexcept
    {
        if (!try_lock()) [[unlikely]]
            wait();
    }
    void unlock() noexcept
    {
        if (fenced_) [[likely]] {
            state_.store(unlocked, std::memory_order_release);
            light_fence();
        } else {
            state_.exchange(unlocked, std::memory_order_seq_cst);
        }
        // Either this sees that somebody waits, or he has seen that it is unlocked.
        if (waiting_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake_one();
    }

private:
    enum state : std::uint32_t { unlocked, locked };

    void wait() noexcept;
    void wake_one() noexcept;

    std::atomic<std::uint32_t> state_{unlocked};
    std::atomic<std::uint32_t> waiting_{0};
    const bool fenced_ = has_heavy_fence();
};

} // namespace zlink::base
