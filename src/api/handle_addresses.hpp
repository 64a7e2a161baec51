// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace zlink::api {

/// Addresses that can be read and stand for the numbers from 0 to Count - 1, a power of two. Zeros
/// are there, and no memory: nothing is ever written, so all of it is the kernel's page of zeros.
///
/// Thread safety: one thread at a time; low_number() in any.
template <std::size_t Count>
class handle_addresses {
public:
    /// False if there are no addresses left. Once it was true it remains so.
    bool reserve() noexcept
    {
        if (first_)
            return true;
        // Twice what is needed holds a range that begins at a multiple of its size.
        void* const mapped = ::mmap(nullptr, 2 * bytes, PROT_READ,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED)
            return false;
        const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
        const std::uintptr_t first = (begin + bytes - 1) & ~(bytes - 1);
        unmap(begin, first);
        unmap(first + bytes, begin + 2 * bytes);
        first_ = first;
        return true;
    }

    void* at(std::uint32_t number) const noexcept
    {
        return reinterpret_cast<void*>(first_ + number * stride);
    }

    /// The number of an address that at() returned; some number for any other.
    static std::uint32_t low_number(const void* address) noexcept
    {
        return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(address) / stride) %
                                          Count);
    }

private:
    static constexpr std::uintptr_t stride = 16; ///< they look aligned
    static constexpr std::uintptr_t bytes = Count * stride;
    static_assert((Count & (Count - 1)) == 0);

    static void unmap(std::uintptr_t begin, std::uintptr_t end) noexcept
    {
        if (begin != end)
            ::munmap(reinterpret_cast<void*>(begin), end - begin);
    }

    std::uintptr_t first_ = 0;
};

} // namespace zlink::api
