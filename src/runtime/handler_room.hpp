// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zlink::runtime {

/// Memory for one posted handler, so that posting it cannot fail. Free again as soon as the handler
/// runs.
struct handler_room {
    static constexpr std::size_t size_bytes = 256;
    alignas(std::max_align_t) std::byte bytes[size_bytes];
};

/// The allocator to bind to that handler.
template <class T>
struct handler_allocator {
    using value_type = T;
    explicit handler_allocator(handler_room& its_room) noexcept : room(&its_room) {}
    template <class U>
    handler_allocator(const handler_allocator<U>& other) noexcept : room(other.room)
    {}
    T* allocate(std::size_t count) const noexcept
    {
        static_assert(sizeof(T) <= handler_room::size_bytes);
        static_assert(alignof(T) <= alignof(handler_room));
        return count == 1 ? reinterpret_cast<T*>(room->bytes) : nullptr;
    }
    void deallocate(T*, std::size_t) const noexcept {}
    template <class U>
    bool operator==(const handler_allocator<U>& other) const noexcept
    {
        return room == other.room;
    }
    handler_room* room;
};

} // namespace zlink::runtime
