// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink::base {
namespace detail {

template <class Word>
Word load(const void* from, std::size_t at) noexcept
{
    Word word;
    std::memcpy(&word, static_cast<const char*>(from) + at, sizeof word);
    return word;
}

// For sizeof(Word) to twice as many bytes: the first and the last word, which may overlap.
template <class Word>
bool same_ends(const void* a, const void* b, std::size_t bytes) noexcept
{
    const std::size_t last = bytes - sizeof(Word);
    return ((load<Word>(a, 0) ^ load<Word>(b, 0)) | (load<Word>(a, last) ^ load<Word>(b, last))) ==
           0;
}

} // namespace detail

/// memcmp() == 0, without a call where it is a matter of a few bytes, as with routing ids.
inline bool same_bytes(const void* a, const void* b, std::size_t bytes) noexcept
{
    if (bytes >= 4 && bytes <= 8)
        return detail::same_ends<std::uint32_t>(a, b, bytes);
    if (bytes > 8 && bytes <= 16)
        return detail::same_ends<std::uint64_t>(a, b, bytes);
    return bytes == 0 || std::memcmp(a, b, bytes) == 0;
}

} // namespace zlink::base
