// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "base/queue/publication.hpp"
#include "base/queue/queue_segment.hpp"
#include "base/tuning.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::base {

/// The producer's side of a byte_queue: appends bytes to its chain of segments, and publishes them.
/// Thread safety: one thread at a time, except rotate_chunks().
/// Errors: running out of memory is reported by reserve() and append(); nothing is changed then.
class queue_producer : public publication {
public:
    using segment = queue_segment;

    queue_producer(const queue_producer&) = delete;
    queue_producer& operator=(const queue_producer&) = delete;

    /// Any thread. Producer and consumer are likely to be on two processors, with up to `messages`
    /// messages in flight (0 = any number): large chunks are used in turn, see
    /// allocate_rotating_buffer().
    void rotate_chunks(std::uint64_t messages) noexcept
    {
        rotating_messages_.store(messages ? messages : UINT64_MAX, std::memory_order_relaxed);
    }

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
    /// Makes the next append() or skip() certain to succeed; false when memory is exhausted.
    bool prepare_append() noexcept;
    /// Appends bytes that lie in a chunk that several queues share (the queue takes a reference of
    /// its own). If the bytes behind them are appended next, both make one run.
    bool append_shared(buffer* chunk, std::byte* at, std::size_t bytes) noexcept;
    /// Publishes all that was appended, as `messages` more messages. True if the consumer was
    /// asleep: it counts as awake now, and the caller has to make it run.
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
    bool publish() noexcept { return publish_up_to(committed_position_, messages_); }
    /// commit() for a producer that has taken over the consumer's role: it costs no atomic
    /// read-modify-write. Meanwhile the consumer must not rely on its sleep bit; it ends this time
    /// by recall(). True once after a recall: the producer goes back to commit().
    bool commit_as_owner(std::uint64_t messages) noexcept
    {
        mark(messages);
        return publish_as_owner(committed_position_, messages_);
    }
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
    std::uint64_t committed_messages() const noexcept { return messages_; }

protected:
    /// `root` is the first segment. It has no memory at first.
    explicit queue_producer(segment& root) noexcept : tail_(&root), committed_tail_(&root) {}
    ~queue_producer() = default;
    /// At the end: the segments from `first` on, and all that wait to be used again.
    void free_all(segment* first) noexcept;

    /// The consumer's.
    void give_back(segment* passed) noexcept { returned_.give_back(passed); }

private:
    std::uint64_t tail_position() const noexcept
    {
        return tail_open_ ? tail_->start + static_cast<std::uint64_t>(write_ - tail_->data)
                          : tail_->end.load(std::memory_order_relaxed);
    }
    std::byte* reserve_slow(std::size_t bytes, std::size_t keep) noexcept;
    std::byte* reserve_first(std::size_t bytes) noexcept;
    std::byte* reserve_behind_shared(std::size_t bytes) noexcept;
    void close_body(std::uint64_t messages) noexcept;
    void seal_tail() noexcept;
    segment* take_bare() noexcept;
    segment* take_with_chunk(std::size_t bytes) noexcept;
    segment* take_with_rotating_chunk() noexcept;
    std::size_t rotating_bytes() const noexcept;
    bool tail_is_untouched() const noexcept { return tail_open_ && write_ == tail_->data; }
    void open_tail(segment* view, std::byte* at) noexcept;

    // Changed with a segment, not with each message.
    returned_segments returned_;
    std::atomic<std::uint64_t> rotating_messages_{0}; ///< see rotate_chunks()

    alignas(cache_line_bytes) std::byte* write_ = nullptr;
    std::byte* chunk_end_ = nullptr;
    segment* tail_;
    bool tail_open_ = false;
    std::uint64_t messages_ = 0;
    segment* committed_tail_;
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
};

} // namespace zlink::base
