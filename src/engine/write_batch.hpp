// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/buffer.hpp"
#include "transport/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zlink::engine {

/// Bytes on their way to a connection that does not take them as they lie in a channel: copies of
/// small things, references to large bodies.
///
/// Thread safety: one thread at a time.
/// Errors: only memory exhaustion throws (std::bad_alloc).
/// Memory: what was appended since the batch was empty; buffers referred to are kept until then.
class write_batch {
public:
    write_batch() = default;
    ~write_batch() { clear(); }
    write_batch(const write_batch&) = delete;
    write_batch& operator=(const write_batch&) = delete;

    /// Appends a copy.
    void append(std::span<const std::byte> bytes);
    void append(std::byte byte) { append(std::span(&byte, 1)); }
    /// Appends a frame's body: by reference if it is large and `owner`, in which it lies, is given.
    void append_body(std::span<const std::byte> body, base::buffer* owner);

    bool empty() const noexcept { return pieces_.empty(); }
    /// Is it as much as one write should take?
    bool full() const noexcept;
    /// What was appended, if all of it are copies and nothing was written.
    std::span<const std::byte> copies() const noexcept { return copies_; }

    /// Writes what `to` takes now. Without an error and not empty() afterwards: it takes no more.
    transport::io_result write_to(transport::stream& to) noexcept;
    /// Drops what is left.
    void clear() noexcept;

private:
    struct piece {
        const std::byte* data; ///< null: bytes of copies_, which may still move
        std::size_t bytes;
        base::buffer* owner;
    };
    void release(const piece& done) noexcept
    {
        if (done.owner)
            done.owner->drop_reference();
    }
    void passed(std::size_t bytes) noexcept;

    std::vector<std::byte> copies_;
    std::vector<piece> pieces_;
    std::size_t bytes_ = 0;
    std::size_t next_ = 0;          ///< the piece to be written next
    std::size_t next_written_ = 0;  ///< bytes of it that are written
    std::size_t copies_passed_ = 0; ///< where the copies of it begin
};

} // namespace zlink::engine
