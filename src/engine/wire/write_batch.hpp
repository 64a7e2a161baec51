// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "base/tuning.hpp"
#include "engine/wire/frame_codec.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace zlink::engine {

/// Encoded bytes on their way to a connection, for wires that cannot send those of the queue as
/// they are: copies of small things, references to large bodies.
///
/// Thread safety: one thread at a time.
/// Errors: only memory exhaustion throws (std::bad_alloc).
/// Memory: copies stay until the batch is empty; a buffer referred to is let go of once it is
/// written.
class write_batch {
public:
    write_batch() = default;
    ~write_batch() { clear(); }
    write_batch(const write_batch&) = delete;
    write_batch& operator=(const write_batch&) = delete;

    /// Makes room for so many bytes of copies, for references, and for the end of a message: to
    /// append one frame of which no more is copied, and to end its message, does not fail then.
    void make_room(std::size_t copied_bytes);
    /// Is such a body referred to by append_body()?
    static bool refers_to(std::span<const std::byte> body, const base::buffer* owner) noexcept
    {
        return owner && body.size() >= tuning::writing::min_apart_bytes;
    }
    /// Appends a copy.
    void append(std::span<const std::byte> bytes);
    /// Appends a frame's body: by reference if it is large and `owner`, in which it lies, is given.
    void append_body(std::span<const std::byte> body, base::buffer* owner);

    /// Appends a frame's body by reference to memory of the caller's. A batch has at most one such
    /// body; keep_borrowed() must be called before its memory goes.
    void append_borrowed(std::span<const std::byte> body);
    /// Copies what is left of the borrowed body, if anything, to `room`.
    void keep_borrowed(base::certain_memory& room) noexcept;

    /// Appends `bytes` bytes and returns where they lie, to be written at once: the next call may
    /// move them.
    std::span<std::byte> extend(std::size_t bytes);
    /// Room for at most `bytes` bytes, and not more than one write should take, to be written at
    /// once and then appended by advance().
    std::span<std::byte> reserve(std::size_t bytes);
    /// Appends the first `bytes` bytes of the room, which are whole messages that begin at a
    /// position of a queue: it ends them as end_message() does.
    void advance(std::size_t bytes, std::uint64_t queue_position,
                 std::span<const message_end> messages);
    /// Appends the first `bytes` bytes of a block, and keeps the block until they are written.
    void append_block(base::buffer_ref block, std::size_t bytes);

    // A batch made of the messages of a queue knows how far into the queue it has been written.

    /// What is appended from here on comes from this position of a queue.
    void begin_at(std::uint64_t queue_position) noexcept { position_written_ = queue_position; }
    /// All of a message was appended, perhaps nothing; it ends at this position of the queue.
    void end_message(std::uint64_t queue_position);
    /// The end, in the queue, of the last message that was written as a whole.
    std::uint64_t position_written() const noexcept { return position_written_; }

    /// The frames up to this position of the queue were appended, by this batch or before it was
    /// last empty.
    std::uint64_t encoded_until() const noexcept { return encoded_until_; }
    void encoded(std::uint64_t until) noexcept { encoded_until_ = std::max(encoded_until_, until); }

    bool empty() const noexcept { return pieces_.empty(); }
    /// Is it as much as one write should take?
    bool full() const noexcept;
    /// What was appended, if all of it are copies and nothing was written.
    std::span<const std::byte> copies() const noexcept
    {
        return std::span(copies_).first(copied_bytes_);
    }

    /// Lists what is left, as far as there are entries; returns how many were filled, and adds up
    /// their bytes.
    std::size_t list(std::span<iovec> entries, std::size_t& bytes) const noexcept;
    /// So many of the bytes that are left were written.
    void written(std::size_t bytes) noexcept;
    /// Drops what is left.
    void clear() noexcept;

private:
    struct piece {
        const std::byte* data; ///< null: bytes of copies_, which may still move
        std::size_t bytes;
        base::buffer* owner; ///< null: copied or borrowed
    };
    void release(const piece& done) noexcept
    {
        if (done.owner)
            done.owner->drop_reference();
    }
    struct end {
        std::size_t bytes; ///< of the batch, up to the end of a message
        std::uint64_t queue_position;
    };
    std::byte* room_for(std::size_t bytes);
    void append_copied(std::size_t bytes);

    std::vector<std::byte> copies_; ///< so many of these bytes are used:
    std::size_t copied_bytes_ = 0;
    std::vector<piece> pieces_;
    std::vector<end> ends_;
    std::size_t next_end_ = 0;
    std::uint64_t position_written_ = 0;
    std::uint64_t encoded_until_ = 0;
    std::size_t bytes_ = 0;
    std::size_t bytes_written_ = 0;
    std::size_t next_ = 0;          ///< the piece to be written next
    std::size_t next_written_ = 0;  ///< bytes of it that are written
    std::size_t copies_passed_ = 0; ///< where the copies of it begin
};

} // namespace zlink::engine
