// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace zlink::engine {

/// Memory that bytes of a connection are read to before they are decoded and copied elsewhere.
///
/// Thread safety: one thread at a time.
/// Errors: memory exhaustion, by value.
/// Memory: that of the largest read, until a much smaller one finds the buffer empty.
class read_buffer {
public:
    /// A place in the buffer, to go back to after consume().
    struct mark {
        std::size_t next;
        std::size_t end;
    };

    /// Makes room for `read_bytes` more bytes, and for `needed_bytes` in all; moves what is
    /// unread, so that it lies in one piece with what is read next. `room` is what may be read to,
    /// perhaps more. False if memory is exhausted: nothing is lost.
    bool prepare(std::size_t needed_bytes, std::size_t read_bytes, iovec& room) noexcept;
    /// So many bytes were read to the room.
    void filled(std::size_t bytes) noexcept { end_ += bytes; }

    /// What was read and not consumed yet.
    std::span<std::byte> unread() noexcept { return std::span(memory_).subspan(next_, size()); }
    std::size_t size() const noexcept { return end_ - next_; }
    bool empty() const noexcept { return next_ == end_; }
    void consume(std::size_t bytes) noexcept
    {
        next_ += bytes;
        if (next_ == end_)
            next_ = end_ = 0;
    }
    /// Where the unread bytes begin and end now; valid until prepare().
    mark position() const noexcept { return {next_, end_}; }
    void return_to(const mark& to) noexcept
    {
        next_ = to.next;
        end_ = to.end;
    }
    /// Drops what is unread, but keeps the memory: its bytes may still be looked at.
    void clear() noexcept { next_ = end_ = 0; }

private:
    std::vector<std::byte> memory_; ///< [next_, end_) is unread
    std::size_t next_ = 0;
    std::size_t end_ = 0;
};

} // namespace zlink::engine
