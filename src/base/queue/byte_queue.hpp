// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/queue_producer.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/uio.h>

namespace zlink::base {

/// A single-producer, single-consumer queue of bytes: a chain of segments, each a view of recycled
/// chunk memory or of a reference-counted message body. What the producer appends becomes visible
/// all at once with commit(), or is taken back with rollback(). How the two sides sleep and wake is
/// described in publication.hpp; the producer's functions are those of queue_producer, the
/// consumer's are here.
///
/// Thread safety: producer functions in one thread at a time, consumer functions in one thread at a
/// time; handing a side to another thread needs an ordering of its own (a lock, a queue).
class byte_queue : public queue_producer {
public:
    byte_queue() noexcept;
    ~byte_queue();

    /// Makes [read_begin(), read_end()) the next contiguous bytes; false if nothing is published.
    bool load() noexcept { return read_ != read_end_ || load_slow(); }
    const std::byte* read_begin() const noexcept { return read_; }
    const std::byte* read_end() const noexcept { return read_end_; }
    /// The segment read_begin() lies in.
    const segment& head() const noexcept { return *head_; }
    /// Moves over `bytes` bytes of [read_begin(), read_end()).
    void consume(std::size_t bytes) noexcept { read_ += bytes; }
    /// read_begin() is the beginning of a body segment: moves over that and lets go of it.
    void consume_body() noexcept;
    /// Marks the consumer asleep and returns at once: the next commit tells its thread to wake it.
    /// False if more was published meanwhile (the consumer stays awake).
    bool sleep() noexcept { return sleep_at(limit_); }
    /// The position of read_begin() in the stream, in bytes.
    std::uint64_t read_position() const noexcept
    {
        return read_ ? head_->start + static_cast<std::uint64_t>(read_ - head_->data) : 0;
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
    bool load_slow() noexcept;
    void set_first_cursors() noexcept;
    void release_until(segment* keep) noexcept;
    void release_finished_body() noexcept;

    alignas(cache_line_bytes) const std::byte* read_ = nullptr;
    const std::byte* read_end_ = nullptr;
    segment* head_ = &root_;
    std::uint64_t limit_ = 0;
    segment* send_ = &root_;
    const std::byte* send_at_ = nullptr;

    // The first segment, so that the chain never is empty. It has no memory at first; the consumer
    // does not read it before something is published (set_first_cursors()), so that it can get
    // some. queue_producer has only its address until it is made.
    segment root_;
};

} // namespace zlink::base
