// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/sync/asymmetric_fence.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace zlink::base {

/// Decides who closes an object (a socket) that belongs to one thread when another thread asks for
/// it: the thread that waits for it, as soon as its wait has ended, or else the one that asks.
///
/// Who waits stores that it does and then looks whether closing was requested; who requests does it
/// the other way round. So at least one of the two sees the other, and of both claim() chooses one.
/// Whoever requests may destroy all this as soon as nobody waits: a wait ends with a last store.
///
/// Thread safety: begin_wait(), end_wait() and waiting() are for the socket's thread, request() is
/// for one call of any thread, and the others for any.
class deferred_close {
public:
    /// The thread waits, until end_wait(); one wait may lie within another.
    void begin_wait() noexcept
    {
        waits_.store(waits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        order_waiting();
    }
    /// True if that was the outermost wait, and closing was requested: who waited claims it. After
    /// a false that ended the outermost wait, this may be gone.
    bool end_wait() noexcept
    {
        const std::uint32_t outer = waits_.load(std::memory_order_relaxed) - 1;
        if (outer == 0)
            leaving_.store(true, std::memory_order_relaxed);
        waits_.store(outer, std::memory_order_release);
        if (outer != 0)
            return false;
        order_waiting();
        if (requested())
            return true;
        leaving_.store(false, std::memory_order_release);
        return false;
    }
    /// Is a wait under way?
    bool waiting() const noexcept { return waits_.load(std::memory_order_relaxed) != 0; }

    /// Who closes the socket.
    enum class closer : std::uint8_t {
        requester,      ///< nobody waits
        waiting_thread, ///< it has to be woken
        claimant,       ///< whoever has seen the request before requester could close
    };
    /// The socket is to be closed. Unless the requester does it, `owner` is kept for who does.
    closer request(const std::shared_ptr<void>& owner) noexcept;
    bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
    /// The right to close a socket of which that was requested, with what keeps it alive until
    /// then; null if it was not requested, or another has the right.
    std::shared_ptr<void> claim() noexcept;

private:
    void order_waiting() noexcept
    {
        if (fenced_) [[likely]]
            light_fence();
        else
            std::atomic_thread_fence(std::memory_order_seq_cst);
    }

    std::atomic<std::uint32_t> waits_{0}; ///< written by the socket's thread
    std::atomic<bool> leaving_{false};    ///< a wait has ended, and requested_ is to be looked at
    std::atomic<bool> requested_{false};
    std::atomic<bool> claimed_{false};
    const bool fenced_ = has_heavy_fence();
    std::shared_ptr<void> owner_; ///< since request(), until claim()
};

} // namespace zlink::base
