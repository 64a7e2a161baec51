// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/endian/conversion.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

/// Frame headers of ZMTP 2.0, 3.0 and 3.1: flags (1 byte), body size (1 or 8 bytes, big-endian),
/// body.
///
/// Thread safety: pure functions on caller memory.
/// Errors: none; any bit pattern decodes. Limits on `body_bytes` are the caller's business, to be
/// checked before memory is reserved for a body.
namespace zlink::engine::zmtp3 {

inline constexpr std::uint8_t flag_more = 1;    ///< Further frames of the same message follow.
inline constexpr std::uint8_t flag_long = 2;    ///< The size field has 8 bytes instead of 1.
inline constexpr std::uint8_t flag_command = 4; ///< The frame is a command, not message data.

inline constexpr std::size_t short_header_bytes = 2;
inline constexpr std::size_t long_header_bytes = 9;
inline constexpr std::uint64_t max_short_body_bytes = 255; ///< Longer bodies need the LONG form.
inline constexpr std::uint64_t max_body_bytes = INT64_MAX; ///< More is no size of a frame.

/// A decoded frame header.
struct frame_header {
    std::uint8_t flags = 0;        ///< As received, reserved bits included.
    std::uint8_t header_bytes = 0; ///< 2 or 9: the body starts this many bytes after the header.
    std::uint64_t body_bytes = 0;  ///< Size of the body, any 64-bit value.
};

/// Header size for a body of `body_bytes`: 2 or 9.
constexpr std::size_t header_bytes_for(std::uint64_t body_bytes) noexcept
{
    return body_bytes > max_short_body_bytes ? long_header_bytes : short_header_bytes;
}

/// The size field of a LONG frame.
inline std::uint64_t load_size(const std::byte* at) noexcept
{
    return boost::endian::load_big_u64(reinterpret_cast<const unsigned char*>(at));
}

/// Decodes the header that starts at `p`, of which `available` bytes may be read (never more than
/// 9 are). Returns false, leaving `header` untouched, when more bytes are needed. The LONG form is
/// accepted for every size, small ones included.
inline bool decode_header(const std::byte* p, std::size_t available, frame_header& header) noexcept
{
    if (available < short_header_bytes) {
        return false;
    }
    const auto flags = std::to_integer<std::uint8_t>(p[0]);
    if ((flags & flag_long) == 0) {
        header = {flags, static_cast<std::uint8_t>(short_header_bytes),
                  std::to_integer<std::uint64_t>(p[1])};
        return true;
    }
    if (available < long_header_bytes) {
        return false;
    }
    header = {flags, static_cast<std::uint8_t>(long_header_bytes), load_size(p + 1)};
    return true;
}

/// Calls `visit(flags, body)` for each of the whole frames that `frames` consists of.
template <class Visit>
void for_each_frame(std::span<const std::byte> frames, Visit visit)
{
    frame_header header;
    while (decode_header(frames.data(), frames.size(), header)) {
        visit(header.flags, frames.subspan(header.header_bytes, header.body_bytes));
        frames = frames.subspan(header.header_bytes + header.body_bytes);
    }
}

/// `at` is behind a frame, with `more` of its message to follow. Does something lie before `end`
/// behind that message, as far as `max_frames` more frames show?
inline bool continues_behind_message(const std::byte* at, const std::byte* end, bool more,
                                     int max_frames) noexcept
{
    for (; more && max_frames > 0; --max_frames) {
        const auto available = static_cast<std::size_t>(end - at);
        frame_header header;
        if (!decode_header(at, available, header) ||
            header.body_bytes >= available - header.header_bytes)
            return false;
        at += header.header_bytes + header.body_bytes;
        more = (header.flags & flag_more) != 0;
    }
    return !more && at < end;
}

/// Writes a header in the LONG form, which may be used for any size, and returns its size, 9.
inline std::size_t encode_long_header(std::byte* out, std::uint8_t flags,
                                      std::uint64_t body_bytes) noexcept
{
    out[0] = static_cast<std::byte>(flags | flag_long);
    boost::endian::store_big_u64(reinterpret_cast<unsigned char*>(out + 1), body_bytes);
    return long_header_bytes;
}

/// Writes the header of a frame and returns its size, 2 or 9; `out` must have room for 9 bytes when
/// `body_bytes` exceeds 255, for 2 otherwise. The LONG bit of `flags` is set or cleared to fit
/// `body_bytes`; the other bits are written as given.
inline std::size_t encode_header(std::byte* out, std::uint8_t flags,
                                 std::uint64_t body_bytes) noexcept
{
    if (body_bytes <= max_short_body_bytes) {
        out[0] = static_cast<std::byte>(flags & ~flag_long);
        out[1] = static_cast<std::byte>(body_bytes);
        return short_header_bytes;
    }
    return encode_long_header(out, flags, body_bytes);
}

} // namespace zlink::engine::zmtp3
