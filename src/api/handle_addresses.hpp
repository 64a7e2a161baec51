// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace zlink::api {

/// Addresses that can be read and stand for numbers, in ranges that are reserved one by one as they
/// are needed: a process may have little address space. Zeros are there, and no memory: nothing is
/// ever written, so all of it is the kernel's page of zeros.
///
/// The range and the number in it are bits of the address. So each range begins at a multiple of
/// its size, and where it may lie depends on the ranges that are there already.
///
/// `Ranges`: how many there can be; `Size`: numbers in each. Both are powers of two.
/// Thread safety: one thread at a time; the static functions in any.
template <std::size_t Ranges, std::size_t Size>
class handle_addresses {
public:
    static constexpr std::uint32_t no_range = 0xffff'ffff;

    /// Reserves one more range, for good, and tells which it is; no_range if there are no addresses
    /// left.
    std::uint32_t add_range() noexcept
    {
        // Below the last one there is mostly room, in which addresses are of another range.
        if (last_)
            if (const std::uint32_t added = find_below(last_); added != no_range)
                return added;
        const std::uintptr_t anywhere = map_anywhere();
        if (!anywhere)
            return no_range;
        if (!begins_[range_of(anywhere)])
            return keep(anywhere);
        unmap(anywhere, anywhere + bytes);
        return find_below(anywhere);
    }

    void* at(std::uint32_t range, std::uint32_t number) const noexcept
    {
        return reinterpret_cast<void*>(begins_[range] + number * stride);
    }

    /// The range of an address that at() returned; some range for any other.
    static std::uint32_t range_of(const void* address) noexcept
    {
        return range_of(reinterpret_cast<std::uintptr_t>(address));
    }
    /// The number of such an address in its range, likewise.
    static std::uint32_t number_of(const void* address) noexcept
    {
        return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(address) / stride) %
                                          Size);
    }

private:
    static constexpr std::uintptr_t stride = 16; ///< they look aligned
    static constexpr std::uintptr_t bytes = Size * stride;
    static constexpr int most_tries = 4096; ///< what lies in the way is rarely so large
    static_assert((Ranges & (Ranges - 1)) == 0 && (Size & (Size - 1)) == 0);

    static std::uint32_t range_of(std::uintptr_t address) noexcept
    {
        return static_cast<std::uint32_t>((address / bytes) % Ranges);
    }

    std::uint32_t keep(std::uintptr_t begin) noexcept
    {
        begins_[range_of(begin)] = begin;
        last_ = begin;
        return range_of(begin);
    }

    std::uint32_t find_below(std::uintptr_t begin) noexcept
    {
        for (int tries = 0; tries < most_tries && begin > 2 * bytes; ++tries) {
            begin -= bytes;
            if (begins_[range_of(begin)])
                continue;
            const std::uintptr_t mapped = map(begin, bytes);
            if (mapped == begin)
                return keep(begin);
            if (!mapped)
                break;
            unmap(mapped, mapped + bytes); // something else is there
        }
        return no_range;
    }

    static std::uintptr_t map_anywhere() noexcept
    {
        // Twice what is needed holds a range that begins at a multiple of its size.
        const std::uintptr_t begin = map(0, 2 * bytes);
        if (!begin)
            return 0;
        const std::uintptr_t first = (begin + bytes - 1) & ~(bytes - 1);
        unmap(begin, first);
        unmap(first + bytes, begin + 2 * bytes);
        return first;
    }

    // At `wanted` if there is room. 0 if there is none anywhere.
    static std::uintptr_t map(std::uintptr_t wanted, std::size_t size) noexcept
    {
        void* const mapped = ::mmap(reinterpret_cast<void*>(wanted), size, PROT_READ,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return mapped == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(mapped);
    }

    static void unmap(std::uintptr_t begin, std::uintptr_t end) noexcept
    {
        if (begin != end)
            ::munmap(reinterpret_cast<void*>(begin), end - begin);
    }

    std::uintptr_t begins_[Ranges]{}; ///< 0: not there
    std::uintptr_t last_ = 0;
};

} // namespace zlink::api
