// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "base/sync/asymmetric_fence.hpp"
#include "base/tuning.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

namespace zlink::base {

inline constexpr std::size_t cache_line_bytes = 64;

/// A single-producer, single-consumer queue of bytes: a chain of segments, each a view of recycled
/// chunk memory or of a reference-counted message body. What the producer appends becomes visible
/// all at once with commit(), or is taken back with rollback().
///
/// The whole protocol between the two sides is one atomic word, `published_`: the position up to
/// which bytes may be read, and a bit that says the consumer is asleep. The consumer falls asleep
/// by a compare-exchange of the very position it has seen, so a commit either is seen by it or sees
/// it asleep: no wake-up can be lost. A new queue counts its consumer as awake: whoever takes up
/// that role looks for what is there already, and then goes to sleep.
///
/// A producer that does the consumer's work itself for a while (core::writer: ownership) may
/// publish without that read-modify-write; recall() ends such a time. sleep_protocol_test.cpp tries
/// both agreements in every order of their steps.
///
/// Thread safety: producer functions in one thread at a time, consumer functions in one thread at a
/// time; handing a side to another thread needs an ordering of its own (a lock, a queue).
/// Errors: running out of memory is reported by reserve() and append(); nothing is changed then.
class byte_queue {
public:
    /// A view of consecutive bytes of the stream. The consumer may read `end` at any time
    /// (`open_end` while bytes are appended). It follows `next`, and reads `messages_at_end` and
    /// `ends_message`, only after having seen a published position beyond the segment.
    struct segment {
        std::byte* data = nullptr;
        std::uint64_t start = 0;             ///< stream position of data[0]
        std::atomic<std::uint64_t> end{0};   ///< stream position after the last byte; `open_end`
        std::atomic<segment*> next{nullptr}; ///< also in a list of those that were returned
        buffer* owner = nullptr;             ///< keeps the memory alive (one reference)
        std::uint64_t messages_at_end = 0;   ///< whole messages committed up to `end`
        bool ends_message = false;           ///< `end` is a message boundary
        bool is_body = false;                ///< one whole frame body (or the rest of one)
        bool is_shared = false;              ///< in memory that several queues refer to
        bool is_continuation = false;        ///< begins inside a frame: the rest of a body
    };
    static constexpr std::uint64_t open_end = UINT64_MAX;

    byte_queue() noexcept = default;
    ~byte_queue();
    byte_queue(const byte_queue&) = delete;
    byte_queue& operator=(const byte_queue&) = delete;

    /// Producer and consumer are likely to be on two processors, and up to `messages` messages may
    /// be under way (0 = any number): large chunks are used in turn, as allocate_rotating_buffer()
    /// says. Any thread.
    void rotate_chunks(std::uint64_t messages) noexcept
    {
        rotating_messages_.store(messages ? messages : UINT64_MAX, std::memory_order_relaxed);
    }

    // --- producer ------------------------------------------------------------------------------

    /// Contiguous room for `bytes` at the tail, or null when memory is exhausted. The first `keep`
    /// bytes already lying past the tail (read, not yet advanced over) move along.
    std::byte* reserve(std::size_t bytes, std::size_t keep = 0) noexcept
    {
        if (tail_open_ && static_cast<std::size_t>(chunk_end_ - write_) >= bytes) [[likely]]
            return write_;
        return reserve_slow(bytes, keep);
    }
    /// Contiguous bytes free at the tail after a successful reserve().
    std::size_t room() const noexcept { return static_cast<std::size_t>(chunk_end_ - write_); }
    /// The reserved place.
    std::byte* tail() const noexcept { return write_; }
    /// Appends `bytes` bytes that were written at the reserved place.
    void advance(std::size_t bytes) noexcept { write_ += bytes; }
    /// Leaves out `bytes` bytes at the reserved place: the stream goes on after them.
    bool skip(std::size_t bytes) noexcept;
    /// Appends bytes where they lie; the queue takes over the caller's reference to `owner`
    /// (on failure it stays with the caller).
    bool append(buffer* owner, const std::byte* data, std::size_t bytes,
                bool continuation = false) noexcept;
    /// Sees to it that the next append() or skip() does not fail; false when memory is exhausted.
    bool prepare_append() noexcept;
    /// Appends bytes that lie in a chunk several queues share (the queue takes a reference of its
    /// own). What follows them there may be appended next, and makes one run with them.
    bool append_shared(buffer* chunk, std::byte* at, std::size_t bytes) noexcept;
    /// Publishes all that was appended, as `messages` more messages. True if the consumer was
    /// asleep: it is awake now, and the caller has to see to it that it runs.
    bool commit(std::uint64_t messages) noexcept
    {
        mark(messages);
        return publish();
    }
    /// First half of commit(): all that was appended is `messages` more whole messages.
    void mark(std::uint64_t messages) noexcept
    {
        if (!tail_open_) [[unlikely]]
            close_body(messages);
        messages_ += messages;
        committed_position_ = tail_position();
        committed_tail_ = tail_;
        committed_write_ = write_;
    }
    /// Second half of commit(): publishes up to the last mark; before any rollback().
    bool publish() noexcept
    {
        published_messages_.store(messages_, std::memory_order_relaxed);
        return (published_.exchange(committed_position_ << 1, std::memory_order_acq_rel) &
                asleep_bit) != 0;
    }
    /// As commit(), for a producer that has taken over the consumer's role: costs no atomic
    /// read-modify-write. The consumer must not rely on its sleep bit meanwhile; it ends this by
    /// recall(). True once after a recall: the producer goes back to commit().
    bool commit_as_owner(std::uint64_t messages) noexcept
    {
        mark(messages);
        published_messages_.store(messages_, std::memory_order_relaxed);
        published_.store(committed_position_ << 1, std::memory_order_release);
        light_fence();
        return recalled_.load(std::memory_order_relaxed) && take_recall();
    }
    /// Producer: forgets a recall that has become pointless.
    bool take_recall() noexcept { return recalled_.exchange(false, std::memory_order_relaxed); }
    /// Takes back all that was appended since the last commit.
    void rollback() noexcept;
    bool has_uncommitted() const noexcept { return tail_position() != committed_position_; }
    /// What was appended since the last mark(), if it lies in one piece. Empty otherwise.
    std::span<const std::byte> uncommitted() const noexcept
    {
        if (!tail_open_)
            return {};
        if (tail_ == committed_tail_)
            return {committed_write_, write_};
        if (tail_->start == committed_position_)
            return {tail_->data, write_};
        return {};
    }
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
    std::uint64_t committed_messages() const noexcept { return messages_; }

    // --- consumer ------------------------------------------------------------------------------

    /// Makes [read_begin(), read_end()) the next contiguous bytes; false if nothing is published.
    bool load() noexcept { return read_ != read_end_ || load_slow(); }
    const std::byte* read_begin() const noexcept { return read_; }
    const std::byte* read_end() const noexcept { return read_end_; }
    /// The segment read_begin() lies in.
    const segment& head() const noexcept { return *head_; }
    /// Moves over `bytes` bytes of [read_begin(), read_end()).
    void consume(std::size_t bytes) noexcept { read_ += bytes; }
    /// Moves over the body segment read_begin() stands at the beginning of, and lets go of it.
    void consume_body() noexcept;
    /// Marks the consumer asleep and returns at once: the next commit tells its thread to wake it.
    /// False if more was published meanwhile (the consumer stays awake).
    bool sleep() noexcept
    {
        const std::uint64_t asleep = limit_ << 1 | asleep_bit;
        std::uint64_t seen = limit_ << 1;
        return published_.compare_exchange_strong(seen, asleep, std::memory_order_acq_rel) ||
               seen == asleep;
    }
    /// Ends the ownership of the producer: all that it has committed so far is visible after the
    /// call, and its next commit_as_owner() will tell it. Needs has_heavy_fence().
    void recall() noexcept
    {
        announce_recall();
        heavy_fence();
    }
    /// The first half of recall(), for who calls heavy_fence() for several queues.
    void announce_recall() noexcept { recalled_.store(true, std::memory_order_relaxed); }
    /// Messages published so far (may run ahead of the position by the newest commits).
    std::uint64_t published_messages() const noexcept
    {
        return published_messages_.load(std::memory_order_relaxed);
    }
    /// The position of read_begin() in the stream, in bytes.
    std::uint64_t read_position() const noexcept
    {
        return read_ ? head_->start + static_cast<std::uint64_t>(read_ - head_->data) : 0;
    }
    /// The published position, in bytes.
    std::uint64_t published_position() const noexcept
    {
        return published_.load(std::memory_order_acquire) >> 1;
    }

    // A second cursor runs ahead of the first while bytes are written to a connection: what lies
    // between the two is kept, so that the message in which a connection broke can be found.

    struct batch {
        std::size_t count = 0; ///< filled entries
        std::size_t bytes = 0;
        std::uint64_t messages = 0; ///< whole messages up to the end of the batch, in total
    };
    /// Lists bytes after the send cursor: at most `entries` segments, stopping once `bytes` is
    /// reached. Nothing is moved.
    batch gather(iovec* out, std::size_t entries, std::size_t bytes) noexcept;
    /// Moves the send cursor over `bytes` bytes listed by gather() and lets go of finished
    /// messages.
    void sent(std::size_t bytes) noexcept;
    /// Has all that was seen published been sent?
    bool all_sent() const noexcept { return send_position() == limit_; }
    /// Position of the send cursor in the stream.
    std::uint64_t send_position() const noexcept
    {
        return send_at_ ? send_->start + static_cast<std::uint64_t>(send_at_ - send_->data) : 0;
    }
    /// Does the send cursor stand where the kept bytes begin, between two messages?
    bool at_boundary() const noexcept { return send_ == head_ && send_at_ == read_; }
    /// Puts the send cursor back to read_begin().
    void unsend() noexcept;

    /// Walks over what is published behind a cursor. It moves no cursor and lets go of nothing.
    ///
    /// Lifetime: valid while the cursor it began at is not moved.
    class lookahead {
    public:
        /// Makes [begin(), end()) the next contiguous bytes; false if there are none.
        bool load() noexcept;
        const std::byte* begin() const noexcept { return at_; }
        const std::byte* end() const noexcept { return end_; }
        /// The segment begin() lies in.
        const segment& head() const noexcept { return *segment_; }
        /// Moves over `bytes` bytes of [begin(), end()).
        void consume(std::size_t bytes) noexcept { at_ += bytes; }
        /// The position of begin() in the stream, in bytes.
        std::uint64_t position() const noexcept
        {
            return at_ ? segment_->start + static_cast<std::uint64_t>(at_ - segment_->data) : 0;
        }

    private:
        friend byte_queue;
        lookahead(const segment* first, const std::byte* at, std::uint64_t limit) noexcept
            : segment_(first), at_(at), end_(at), limit_(limit)
        {}

        const segment* segment_;
        const std::byte* at_;
        const std::byte* end_;
        std::uint64_t limit_; ///< what is published from here on is not seen
    };
    lookahead look_behind_send_cursor() noexcept;
    lookahead look_behind_read_cursor() noexcept;
    /// Drops what was begun with sent(), up to a border between messages: the next one that is
    /// known, which may be some messages later. Returns how many messages end there, in total; 0 if
    /// nothing was begun.
    std::uint64_t skip_to_border() noexcept;

private:
    static constexpr std::uint64_t asleep_bit = 1;

    std::uint64_t tail_position() const noexcept
    {
        return tail_open_ ? tail_->start + static_cast<std::uint64_t>(write_ - tail_->data)
                          : tail_->end.load(std::memory_order_relaxed);
    }
    std::byte* reserve_slow(std::size_t bytes, std::size_t keep) noexcept;
    std::byte* reserve_first(std::size_t bytes) noexcept;
    std::byte* reserve_behind_shared(std::size_t bytes) noexcept;
    bool load_slow() noexcept;
    void set_first_cursors() noexcept;
    void close_body(std::uint64_t messages) noexcept;
    void seal_tail() noexcept;
    segment* take_bare() noexcept;
    segment* take_with_chunk(std::size_t bytes) noexcept;
    segment* take_with_rotating_chunk() noexcept;
    std::size_t rotating_bytes() const noexcept;
    bool tail_is_untouched() const noexcept { return tail_open_ && write_ == tail_->data; }
    void open_tail(segment* view, std::byte* at) noexcept;
    void release(segment* passed) noexcept;
    void release_until(segment* keep) noexcept;
    void release_finished_body() noexcept;
    void free_segment(segment* unused) noexcept;
    void free_list(segment* first) noexcept;

    /// Segments on their way back to the producer.
    class return_stack {
    public:
        void push(segment* passed) noexcept;
        segment* take_all() noexcept { return first_.exchange(nullptr, std::memory_order_acquire); }

    private:
        std::atomic<segment*> first_{nullptr};
    };

    // shared
    alignas(cache_line_bytes) std::atomic<std::uint64_t> published_{0};
    std::atomic<std::uint64_t> published_messages_{0};
    std::atomic<bool> recalled_{false};
    // Changed with a segment, not with each message.
    return_stack returned_bare_;
    return_stack returned_with_chunk_;
    std::atomic<int> returned_chunks_{0};
    std::atomic<std::uint64_t> released_position_{0}; ///< where the last segment given back ends
    std::atomic<std::uint64_t> rotating_messages_{0}; ///< see rotate_chunks()

    // producer
    alignas(cache_line_bytes) std::byte* write_ = nullptr;
    std::byte* chunk_end_ = nullptr;
    segment* tail_ = &root_;
    bool tail_open_ = false;
    std::uint64_t messages_ = 0;
    segment* committed_tail_ = &root_;
    std::byte* committed_write_ = nullptr;
    std::uint64_t committed_position_ = 0;
    buffer* chunk_ = nullptr;
    bool tail_shared_ = false;       ///< the open tail is no view of chunk_; these wait meanwhile:
    std::byte* own_write_ = nullptr; ///< write_ and
    std::byte* own_end_ = nullptr;   ///< chunk_end_
    segment* spare_bare_ = nullptr;
    segment* spare_with_chunk_ = nullptr;
    std::size_t next_chunk_bytes_ = tuning::queue::first_chunk_bytes;
    int chunks_of_size_ = 0; ///< made since next_chunk_bytes_ changed; of the first size: used

    // consumer
    alignas(cache_line_bytes) const std::byte* read_ = nullptr;
    const std::byte* read_end_ = nullptr;
    segment* head_ = &root_;
    std::uint64_t limit_ = 0;
    segment* send_ = &root_;
    const std::byte* send_at_ = nullptr;

    // The first segment, so that the chain never is empty. It has no memory at first; the consumer
    // does not look at it before something is published (set_first_cursors()), so that it can get
    // some.
    segment root_;
};

} // namespace zlink::base
