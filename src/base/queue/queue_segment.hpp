// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace zlink::base {

/// A view of consecutive bytes of the stream in a byte_queue. The consumer may read `end` at any
/// time (`open_end` while bytes are appended). It follows `next`, and reads `messages_at_end` and
/// `ends_message`, only after having seen a published position beyond the segment.
struct queue_segment {
    static constexpr std::uint64_t open_end = UINT64_MAX;

    std::byte* data = nullptr;
    std::uint64_t start = 0;                   ///< stream position of data[0]
    std::atomic<std::uint64_t> end{0};         ///< position after the last byte; `open_end`
    std::atomic<queue_segment*> next{nullptr}; ///< also in a list of those that were returned
    buffer* owner = nullptr;                   ///< keeps the memory alive (one reference)
    std::uint64_t messages_at_end = 0;         ///< whole messages committed up to `end`
    bool ends_message = false;                 ///< `end` is a message boundary
    bool is_body = false;                      ///< one whole frame body (or the rest of one)
    bool is_shared = false;                    ///< in memory that several queues refer to
    bool is_continuation = false;              ///< begins inside a frame: the rest of a body
    bool is_root = false;                      ///< a part of the queue itself

    /// Lets go of its memory, and deletes it unless it is the root.
    static void free(queue_segment* unused) noexcept;
    static void free_list(queue_segment* first) noexcept;
};

/// Segments on their way back to the producer, which frees them in the end.
/// Thread safety: give_back() in the consumer's thread, all others in the producer's.
class returned_segments {
public:
    /// The consumer has passed it.
    void give_back(queue_segment* passed) noexcept;

    /// All that are there, as a list; with a chunk that can be written again, or without memory.
    queue_segment* take_bare() noexcept { return bare_.take_all(); }
    queue_segment* take_with_chunk() noexcept
    {
        queue_segment* const all = with_chunk_.take_all();
        chunks_.store(0, std::memory_order_relaxed);
        return all;
    }
    /// Where the last segment that was given back ends in the stream.
    std::uint64_t end_position() const noexcept
    {
        return end_position_.load(std::memory_order_relaxed);
    }

private:
    class stack {
    public:
        void push(queue_segment* passed) noexcept;
        queue_segment* take_all() noexcept
        {
            return first_.exchange(nullptr, std::memory_order_acquire);
        }

    private:
        std::atomic<queue_segment*> first_{nullptr};
    };

    stack bare_;
    stack with_chunk_;
    std::atomic<int> chunks_{0};
    std::atomic<std::uint64_t> end_position_{0};
};

} // namespace zlink::base
