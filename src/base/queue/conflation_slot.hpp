// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"

#include <atomic>

namespace zlink::base {

/// Room for one buffer between two threads: a newer one takes the place of an older one that was
/// not fetched. It stands beside a byte_queue, whose sleep bit wakes the consumer: the producer
/// calls byte_queue::wake() after put(), and the consumer looks at filled() once more after it has
/// fallen asleep. Both change the same atomic word, so one of them sees the other.
///
/// Thread safety: all functions in any thread. Owns what is in it.
class conflation_slot {
public:
    conflation_slot() noexcept = default;
    ~conflation_slot() { take(); }
    conflation_slot(const conflation_slot&) = delete;
    conflation_slot& operator=(const conflation_slot&) = delete;

    /// Puts `newest` in, in place of what is there.
    void put(buffer_ref newest) noexcept
    {
        buffer_ref replaced(buffer_.exchange(newest.release(), std::memory_order_acq_rel));
    }
    /// Puts back what take() gave, unless something newer is there now.
    void put_back(buffer_ref taken) noexcept
    {
        buffer* nothing = nullptr;
        if (buffer_.compare_exchange_strong(nothing, taken.get(), std::memory_order_acq_rel))
            taken.release();
    }
    /// Takes out what is there; empty if nothing is.
    buffer_ref take() noexcept
    {
        if (!filled())
            return {};
        return buffer_ref(buffer_.exchange(nullptr, std::memory_order_acq_rel));
    }
    bool filled() const noexcept { return buffer_.load(std::memory_order_acquire) != nullptr; }

private:
    std::atomic<buffer*> buffer_{nullptr};
};

} // namespace zlink::base
