// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/sync/asymmetric_fence.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink::base {

inline constexpr std::size_t cache_line_bytes = 64;

/// What the two sides of a byte_queue tell each other.
///
/// The protocol is one atomic word: the position up to which bytes may be read, and a bit that says
/// the consumer is asleep. The consumer falls asleep by a compare-exchange of the very position it
/// has seen, so a commit either is seen by it or sees it asleep: no wake-up can be lost. At first
/// the consumer counts as awake: a thread that takes up that role reads what is there already, and
/// then goes to sleep.
///
/// A producer that does the consumer's work itself for a while (as the batcher, see
/// core::writer_is) may publish without that read-modify-write; recall() ends such a time.
/// sleep_protocol_test.cpp tries both agreements in every order of their steps.
///
/// Thread safety: producer functions in one thread at a time, consumer functions in one thread at a
/// time.
class publication {
public:
    // --- producer
    /// Is the consumer asleep? (Only the producer can change a yes.)
    bool consumer_asleep() const noexcept
    {
        return (published_.load(std::memory_order_acquire) & asleep_bit) != 0;
    }
    /// Wakes the consumer without new bytes; true if it was asleep.
    bool wake() noexcept
    {
        return (published_.fetch_and(~asleep_bit, std::memory_order_acq_rel) & asleep_bit) != 0;
    }
    /// Forgets a recall that has become pointless.
    bool take_recall() noexcept { return recalled_.exchange(false, std::memory_order_relaxed); }

    // --- consumer
    /// Ends the ownership of the producer: all that it has committed so far is visible after the
    /// call, and its next commit_as_owner() will tell it. Needs has_heavy_fence().
    void recall() noexcept
    {
        announce_recall();
        heavy_fence();
    }
    /// The first half of recall(), for a thread that calls heavy_fence() for several queues.
    void announce_recall() noexcept { recalled_.store(true, std::memory_order_relaxed); }
    /// Messages published so far (may run ahead of the position by the newest commits).
    std::uint64_t published_messages() const noexcept
    {
        return published_messages_.load(std::memory_order_relaxed);
    }
    /// The published position, in bytes.
    std::uint64_t published_position() const noexcept
    {
        return published_.load(std::memory_order_acquire) >> 1;
    }

protected:
    /// Producer. True if the consumer was asleep: it is awake now.
    bool publish_up_to(std::uint64_t position, std::uint64_t messages) noexcept
    {
        published_messages_.store(messages, std::memory_order_relaxed);
        return (published_.exchange(position << 1, std::memory_order_acq_rel) & asleep_bit) != 0;
    }
    /// Producer that owns the consumer's role. True once after a recall.
    bool publish_as_owner(std::uint64_t position, std::uint64_t messages) noexcept
    {
        published_messages_.store(messages, std::memory_order_relaxed);
        published_.store(position << 1, std::memory_order_release);
        light_fence();
        return recalled_.load(std::memory_order_relaxed) && take_recall();
    }
    /// Consumer. False if more than `position` is published.
    bool sleep_at(std::uint64_t position) noexcept
    {
        const std::uint64_t asleep = position << 1 | asleep_bit;
        std::uint64_t seen = position << 1;
        return published_.compare_exchange_strong(seen, asleep, std::memory_order_acq_rel) ||
               seen == asleep;
    }

private:
    static constexpr std::uint64_t asleep_bit = 1;

    alignas(cache_line_bytes) std::atomic<std::uint64_t> published_{0};
    std::atomic<std::uint64_t> published_messages_{0};
    std::atomic<bool> recalled_{false};
};

} // namespace zlink::base
