// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Heads and masks of the frames of WebSockets (RFC 6455, section 5).
///
/// Thread safety: pure functions on caller memory.
/// Errors: none; decode_header() tells incomplete input and lengths that are not allowed apart.
namespace zlink::engine::websocket {

inline constexpr std::uint8_t final_bit = 0x80;
inline constexpr std::uint8_t reserved_bits = 0x70;
inline constexpr std::uint8_t opcode_bits = 0x0f;
inline constexpr std::uint8_t mask_bit = 0x80;

enum opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10,
};

/// The payload of a control frame (close, ping, pong) is not longer.
inline constexpr std::size_t max_control_bytes = 125;
inline constexpr std::size_t key_bytes = 4;
inline constexpr std::size_t max_header_bytes = 2 + 8 + key_bytes;

enum close_code : std::uint16_t {
    close_normal = 1000,
    close_protocol_error = 1002,
    close_unacceptable_data = 1003,
    close_without_code = 1005, ///< never on the wire
    close_no_text = 1007,      ///< what should be UTF-8 is not
    close_policy = 1008,
    close_too_large = 1009,
};

using mask_key = std::array<std::byte, key_bytes>;

constexpr std::size_t header_bytes_for(std::uint64_t payload_bytes, bool masked) noexcept
{
    return 2 +
           (payload_bytes <= max_control_bytes ? 0
            : payload_bytes <= 0xffff          ? 2
                                               : 8) +
           (masked ? key_bytes : 0);
}

/// Writes the header of a frame to `out`, which has room for max_header_bytes, and returns its
/// size. `first` is the byte with the final bit and the opcode; `key` is null for a frame that is
/// not masked.
inline std::size_t encode_header(std::byte* out, std::uint8_t first, std::uint64_t payload_bytes,
                                 const mask_key* key) noexcept
{
    std::byte* at = out;
    *at++ = static_cast<std::byte>(first);
    const std::uint8_t masked = key ? mask_bit : 0;
    int shift = -8;
    if (payload_bytes <= max_control_bytes) {
        *at++ = static_cast<std::byte>(masked | payload_bytes);
    } else if (payload_bytes <= 0xffff) {
        *at++ = static_cast<std::byte>(masked | 126);
        shift = 8;
    } else {
        *at++ = static_cast<std::byte>(masked | 127);
        shift = 56;
    }
    for (; shift >= 0; shift -= 8)
        *at++ = static_cast<std::byte>(payload_bytes >> shift);
    if (key) {
        std::memcpy(at, key->data(), key_bytes);
        at += key_bytes;
    }
    return static_cast<std::size_t>(at - out);
}

struct frame_header {
    std::uint8_t first = 0; ///< final bit, reserved bits, opcode
    bool masked = false;
    mask_key key{};
    std::uint64_t payload_bytes = 0;
    std::size_t header_bytes = 0;
};

enum class decoded : std::uint8_t {
    incomplete,
    header,
    bad_length, ///< not the shortest way to write it, or beyond 63 bits
};

/// Reads the header that starts at `at`, of which `available` bytes may be read.
inline decoded decode_header(const std::byte* at, std::size_t available,
                             frame_header& header) noexcept
{
    if (available < 2)
        return decoded::incomplete;
    const auto second = std::to_integer<std::uint8_t>(at[1]);
    const std::uint8_t short_length = second & 0x7f;
    const std::size_t length_bytes = short_length < 126 ? 0 : short_length == 126 ? 2 : 8;
    const bool masked = (second & mask_bit) != 0;
    const std::size_t bytes = 2 + length_bytes + (masked ? key_bytes : 0);
    if (available < 2 + length_bytes)
        return decoded::incomplete;
    std::uint64_t length = length_bytes == 0 ? short_length : 0;
    for (std::size_t i = 0; i < length_bytes; ++i)
        length = length << 8 | std::to_integer<std::uint8_t>(at[2 + i]);
    if (header_bytes_for(length, masked) != bytes || length >> 63 != 0)
        return decoded::bad_length;
    if (available < bytes)
        return decoded::incomplete;
    header = {std::to_integer<std::uint8_t>(at[0]), masked, {}, length, bytes};
    if (masked)
        std::memcpy(header.key.data(), at + 2 + length_bytes, key_bytes);
    return decoded::header;
}

/// Masks or unmasks bytes of a payload, of which `before` bytes come before them, and writes them
/// to `to`, which may be where they lie.
inline void mask_to(std::byte* to, std::span<const std::byte> bytes, const mask_key& key,
                    std::size_t before = 0) noexcept
{
    // As many bytes as any processor changes at once.
    using word [[gnu::vector_size(16)]] = std::uint32_t;
    static_assert(sizeof(word) % key_bytes == 0);
    std::uint32_t pattern = 0;
    std::memcpy(&pattern, key.data(), key_bytes);
    const int turn = static_cast<int>(before % key_bytes * 8); // the first byte is key[before]
    pattern = std::endian::native == std::endian::little ? std::rotr(pattern, turn)
                                                         : std::rotl(pattern, turn);
    const word with{pattern, pattern, pattern, pattern};
    const std::byte* from = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= sizeof with; left -= sizeof with, from += sizeof with, to += sizeof with) {
        word some;
        std::memcpy(&some, from, sizeof some);
        some ^= with;
        std::memcpy(to, &some, sizeof some);
    }
    for (; left >= key_bytes; left -= key_bytes, from += key_bytes, to += key_bytes) {
        std::uint32_t some = 0;
        std::memcpy(&some, from, key_bytes);
        some ^= pattern;
        std::memcpy(to, &some, key_bytes);
    }
    std::byte rest[key_bytes];
    std::memcpy(rest, &pattern, key_bytes);
    for (std::size_t i = 0; i < left; ++i)
        to[i] = from[i] ^ rest[i];
}

inline void apply_mask(std::span<std::byte> bytes, const mask_key& key,
                       std::size_t before = 0) noexcept
{
    mask_to(bytes.data(), bytes, key, before);
}

} // namespace zlink::engine::websocket
