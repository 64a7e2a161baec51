// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/byte_queue.hpp"

#include <cstddef>
#include <new>

namespace zlink::base {

/// For std::allocate_shared(): the count of references lies at the beginning of a cache line, and
/// so in the same one as the first bytes of the object. Whoever takes a reference to use those
/// moves one line between processors instead of two, or of as many as chance will have it.
template <class T>
struct line_allocator {
    using value_type = T;

    line_allocator() noexcept = default;
    template <class U>
    line_allocator(const line_allocator<U>&) noexcept
    {}
    T* allocate(std::size_t count)
    {
        return static_cast<T*>(
            ::operator new (count * sizeof(T), std::align_val_t{cache_line_bytes}));
    }
    void deallocate(T* unused, std::size_t) noexcept
    {
        ::operator delete (unused, std::align_val_t{cache_line_bytes});
    }
    template <class U>
    bool operator==(const line_allocator<U>&) const noexcept
    {
        return true;
    }
};

} // namespace zlink::base
