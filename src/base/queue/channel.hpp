// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/byte_queue.hpp"
#include "base/queue/conflation_slot.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace zlink::base {

/// The high-water mark of one direction of a pipe, counted in whole messages.
///
/// The consumer reports what it has taken, in steps of half the limit and when it stops (nothing is
/// left, or it cannot go on), through one atomic word that also carries the bit "the producer waits
/// for room". A producer without room sets that bit by a compare-exchange of the value seen, as in
/// byte_queue, so a producer that stops is always started again. Between two reports the limit of
/// the producer's side holds at least: what is not reported yet is never more than the part of the
/// consumer's side.
///
/// Thread safety: producer functions in one thread at a time, consumer functions likewise; limits
/// in any thread.
class message_credit {
public:
    /// A side that sets no limit of its own.
    static constexpr int no_part = -1;

    /// How many messages each side lets wait; the limit is the sum, and 0 of either = no limit.
    void set_producer_limit(int messages) noexcept
    {
        producer_limit_.store(messages, std::memory_order_relaxed);
        limit_changed();
    }
    void set_consumer_limit(int messages) noexcept
    {
        consumer_limit_.store(messages, std::memory_order_relaxed);
        limit_changed();
    }
    int producer_limit() const noexcept { return producer_limit_.load(std::memory_order_relaxed); }
    int consumer_limit() const noexcept { return consumer_limit_.load(std::memory_order_relaxed); }
    /// At most so many messages on their way; 0 = no limit.
    std::uint64_t limit() const noexcept
    {
        const int ours = producer_limit();
        const int theirs = consumer_limit();
        if (ours == 0 || theirs == 0)
            return 0;
        return static_cast<std::uint64_t>(ours > 0 ? ours : 0) +
               static_cast<std::uint64_t>(theirs > 0 ? theirs : 0);
    }

    // --- producer
    /// May one more message be sent?
    bool has_room() noexcept { return has_room_at_hand() || look_for_room(); }
    /// The same as far as it is known already.
    bool has_room_at_hand() const noexcept
    {
        return sent() < room_until_.load(std::memory_order_relaxed);
    }
    /// Has room, or asks to be told when there is; false = will be told.
    bool has_room_or_wait() noexcept
    {
        while (!has_room()) {
            std::uint64_t seen = seen_taken_ << 1;
            if (taken_.compare_exchange_strong(seen, seen | waiting_bit,
                                               std::memory_order_acq_rel) ||
                (seen == ((seen_taken_ << 1) | waiting_bit)))
                return false;
        }
        return true;
    }
    /// There is room, but the producer waits all the same: it will be told with the next report().
    void wait_for_report() noexcept { taken_.fetch_or(waiting_bit, std::memory_order_acq_rel); }
    void add_sent(std::uint64_t messages) noexcept { add(sent_, messages); }
    std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

    // --- consumer
    /// Counts taken messages; true if the producer waits and has to be told.
    bool add_taken(std::uint64_t messages) noexcept
    {
        add(consumed_, messages);
        return taken() >= report_at_.load(std::memory_order_relaxed) && report_if_due();
    }
    /// The consumer takes exactly up to the producer's `total`th message.
    bool set_taken(std::uint64_t total) noexcept
    {
        return total > taken() && add_taken(total - taken());
    }
    /// Reports at once, because nothing may be left to be taken, or none of it can be taken now.
    bool report() noexcept
    {
        if (taken() == reported_)
            return false;
        reported_ = taken();
        report_at_.store(reported_ + step(), std::memory_order_relaxed);
        return (taken_.exchange(reported_ << 1, std::memory_order_acq_rel) & waiting_bit) != 0;
    }
    std::uint64_t taken() const noexcept { return consumed_.load(std::memory_order_relaxed); }

    // --- any thread
    /// Messages sent and not taken yet, about now.
    std::uint64_t waiting() const noexcept
    {
        const std::uint64_t taken = this->taken();
        const std::uint64_t sent = this->sent();
        return sent > taken ? sent - taken : 0;
    }

private:
    // By the only thread that writes the counter.
    static void add(std::atomic<std::uint64_t>& counter, std::uint64_t messages) noexcept
    {
        counter.store(counter.load(std::memory_order_relaxed) + messages,
                      std::memory_order_relaxed);
    }

    // Both sides look at the limits anew. A side that overwrites this at the same moment goes on
    // with the old ones for one window more; what is taken is reported at the latest when nothing
    // is left.
    void limit_changed() noexcept
    {
        room_until_.store(0, std::memory_order_relaxed);
        report_at_.store(0, std::memory_order_relaxed);
    }
    bool look_for_room() noexcept
    {
        seen_taken_ = taken_.load(std::memory_order_acquire) >> 1;
        const std::uint64_t limit = this->limit();
        const std::uint64_t until = limit ? seen_taken_ + limit : UINT64_MAX;
        room_until_.store(until, std::memory_order_relaxed);
        return sent() < until;
    }
    std::uint64_t step() const noexcept
    {
        const std::uint64_t half = (limit() + 1) / 2;
        const int theirs = consumer_limit();
        if (half && producer_limit() > 0 &&
            theirs > 0) // an application takes, and may stop at any time
            return std::min(half, static_cast<std::uint64_t>(theirs) + 1);
        return half ? half : tuning::queue::unlimited_step_messages;
    }
    bool report_if_due() noexcept
    {
        const std::uint64_t at = reported_ + step();
        report_at_.store(at, std::memory_order_relaxed);
        return taken() >= at && report();
    }

    static constexpr std::uint64_t waiting_bit = 1;

    // producer
    alignas(cache_line_bytes) std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::uint64_t> room_until_{0}; ///< so many may be sent without another look
    std::uint64_t seen_taken_ = 0;
    // consumer
    alignas(cache_line_bytes) std::atomic<std::uint64_t> consumed_{0};
    std::atomic<std::uint64_t> report_at_{0}; ///< so many may be taken without a look
    std::uint64_t reported_ = 0;
    // both: the producer seldom looks
    std::atomic<std::uint64_t> taken_{0};
    std::atomic<int> producer_limit_{no_part};
    std::atomic<int> consumer_limit_{no_part};
};

/// One direction of a pipe.
struct channel {
    byte_queue queue;
    [[no_unique_address]] message_credit credit;
    // The rest fills the padding of credit's last cache line, that of the consumer, which looks
    // there when it finds nothing in the queue.
    /// For messages that replace one another; they are younger than those of the queue.
    conflation_slot newest;
    /// What is queued may lie there for long: the consumer has no connection to send it to, or
    /// there is none yet.
    std::atomic<bool> stalled{false};
};

} // namespace zlink::base
