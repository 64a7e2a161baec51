// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/codec/zmtp3.hpp"

#include <cstddef>
#include <cstdint>

/// Frame headers of ZMTP 1.0 (RFC 13): length (1 byte, or 0xff and 8 bytes, big-endian), flags (1
/// byte), body. The length counts the flags byte too, so it is never 0.
///
/// Thread safety: pure functions on caller memory.
/// Errors: a length of 0 is reported; limits on the size are the caller's business.
namespace zlink::engine::zmtp1 {

inline constexpr std::size_t short_header_bytes = 2;
inline constexpr std::size_t long_header_bytes = 10;
inline constexpr std::uint64_t max_short_body_bytes = 253; ///< Longer bodies need the long form.
inline constexpr std::byte long_form{0xff};                ///< In place of a length.

enum class decoded : std::uint8_t {
    incomplete, ///< More bytes are needed.
    header,
    no_frame, ///< A length of 0.
};

/// Decodes the header that starts at `p`, of which `available` bytes may be read (never more than
/// 10 are). Fills in `header` for `decoded::header` only; of the flags MORE alone is kept, the
/// others have no meaning. The long form is accepted for every size.
inline decoded decode_header(const std::byte* p, std::size_t available,
                             zmtp3::frame_header& header) noexcept
{
    if (available == 0)
        return decoded::incomplete;
    const bool is_long = p[0] == long_form;
    const std::size_t header_bytes = is_long ? long_header_bytes : short_header_bytes;
    if (is_long && available < header_bytes)
        return decoded::incomplete;
    std::uint64_t length = std::to_integer<std::uint64_t>(p[0]);
    if (is_long) {
        length = 0;
        for (std::size_t i = 1; i < long_header_bytes - 1; ++i)
            length = (length << 8) | std::to_integer<std::uint64_t>(p[i]);
    }
    if (length == 0)
        return decoded::no_frame;
    if (available < header_bytes)
        return decoded::incomplete;
    const auto flags = std::to_integer<std::uint8_t>(p[header_bytes - 1]);
    header = {static_cast<std::uint8_t>(flags & zmtp3::flag_more),
              static_cast<std::uint8_t>(header_bytes), length - 1};
    return decoded::header;
}

/// Writes the header of a frame and returns its size, 2 or 10; `out` must have room for 10 bytes.
inline std::size_t encode_header(std::byte* out, bool more, std::uint64_t body_bytes) noexcept
{
    const auto flags = static_cast<std::byte>(more ? zmtp3::flag_more : 0);
    if (body_bytes <= max_short_body_bytes) {
        out[0] = static_cast<std::byte>(body_bytes + 1);
        out[1] = flags;
        return short_header_bytes;
    }
    out[0] = long_form;
    for (std::size_t i = 1; i < long_header_bytes - 1; ++i)
        out[i] = static_cast<std::byte>((body_bytes + 1) >> (8 * (long_header_bytes - 2 - i)));
    out[long_header_bytes - 1] = flags;
    return long_header_bytes;
}

} // namespace zlink::engine::zmtp1
