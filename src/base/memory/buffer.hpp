// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/loan.hpp"
#include "base/tuning.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zlink::base {

/// Called once when the last reference to user-owned memory goes, possibly in another thread.
using free_function = void (*)(void* data, void* hint);

/// A reference-counted block of bytes: the body of a large message or the memory of a queue chunk.
/// Thread safety: references may be added and dropped in any thread; the bytes are written by one
/// owner before they are shared and are read-only afterwards.
struct buffer {
    std::byte* data;
    std::size_t capacity_bytes;
    std::atomic<std::uint32_t> references;
    std::uint16_t size_class; ///< whose blocks are kept for reuse; `unpooled` if they are not
    bool user_owned;          ///< memory belongs to the application: `free` is called at the end
    std::atomic<bool> shared; ///< was referenced twice at some time (sticky, for ZMQ_SHARED)
    free_function free;
    void* hint; ///< for `free`; or where the body lies that is lent
    loan lending;

    enum special_class : std::uint16_t {
        first_small_class = 0x8000, ///< those that threads keep
        rotating = 0xfffe,          ///< made by allocate_rotating_buffer()
        unpooled = 0xffff,
    };

    bool unique() const noexcept { return references.load(std::memory_order_acquire) == 1; }
    void add_reference() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
    void drop_reference() noexcept;
};

/// A block of at least `bytes` bytes with one reference, or null when memory is exhausted.
/// Blocks of some tens of KiB and more are recycled, which keeps their pages mapped; so are those
/// up to 1 KiB that are freed in the same thread, which saves most of their cost.
buffer* allocate_buffer(std::size_t bytes) noexcept;

/// A block of `tuning::queue::max_chunk_bytes` with one reference, for bytes that another thread
/// reads while the next ones are written: of those that have come back the one that came first, if
/// there are `waiting_bytes` of them or more, and otherwise a new one; null when memory is
/// exhausted.
///
/// What another processor has just read lies in its caches, and to write there again means to wait
/// until they have given each line up; what lies in a cache that both share does not. So the blocks
/// wait as long as possible. See docs/decisions/0018.
buffer* allocate_rotating_buffer(std::size_t waiting_bytes) noexcept;

/// A body of so many bytes is sure to find memory: the next allocate_buffer() in this thread that
/// asks for no more does not fail. 0 if not even that could be set aside.
std::size_t certain_bytes() noexcept;

/// Memory for what is left of a message of which a part may have gone already: it must not be
/// refused then. Made before, and kept by the thread unless it is large; its pages are not touched
/// while there is other memory.
class certain_memory {
public:
    /// For one block of `bytes` bytes at most.
    explicit certain_memory(std::size_t bytes) noexcept;
    ~certain_memory();
    certain_memory(const certain_memory&) = delete;
    certain_memory& operator=(const certain_memory&) = delete;

    /// Is there some? If not, memory is exhausted.
    explicit operator bool() const noexcept { return ready_; }
    /// As allocate_buffer(), but never null. Once, in the thread that has made this.
    buffer* allocate(std::size_t bytes) noexcept;

private:
    bool ready_;
};

/// Wraps memory of the application; null when memory is exhausted (`free` is not called then).
buffer* wrap_user_memory(void* data, std::size_t bytes, free_function free, void* hint) noexcept;

/// Frees a block whose last reference has gone.
void destroy_buffer(buffer* block) noexcept;

inline void buffer::drop_reference() noexcept
{
    if (references.load(std::memory_order_acquire) == 1 ||
        references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        destroy_buffer(this);
}

/// Owning reference to a buffer.
class buffer_ref {
public:
    buffer_ref() noexcept = default;
    /// Takes over a reference the caller owns.
    explicit buffer_ref(buffer* adopted) noexcept : block_(adopted) {}
    buffer_ref(buffer_ref&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    buffer_ref& operator=(buffer_ref&& other) noexcept
    {
        if (this != &other)
            reset(std::exchange(other.block_, nullptr));
        return *this;
    }
    ~buffer_ref() { reset(); }

    buffer* get() const noexcept { return block_; }
    buffer* operator->() const noexcept { return block_; }
    explicit operator bool() const noexcept { return block_ != nullptr; }
    buffer* release() noexcept { return std::exchange(block_, nullptr); }
    void reset(buffer* adopted = nullptr) noexcept
    {
        if (block_)
            block_->drop_reference();
        block_ = adopted;
    }

private:
    buffer* block_ = nullptr;
};

} // namespace zlink::base
