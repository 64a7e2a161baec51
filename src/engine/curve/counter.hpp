// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace zlink::engine::curve {

/// The size of the counter in the nonce of a command, as it lies on the wire: big-endian.
inline constexpr std::size_t counter_bytes = 8;

inline void put_counter(std::byte* at, std::uint64_t counter) noexcept
{
    for (std::size_t i = counter_bytes; i-- > 0; counter >>= 8)
        at[i] = static_cast<std::byte>(counter);
}

inline std::uint64_t get_counter(const std::byte* at) noexcept
{
    std::uint64_t counter = 0;
    for (std::size_t i = 0; i < counter_bytes; ++i)
        counter = counter << 8 | std::to_integer<std::uint64_t>(at[i]);
    return counter;
}

} // namespace zlink::engine::curve
