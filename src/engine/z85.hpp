// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Z85 (RFC 32): bytes as text, 5 characters for 4 bytes.
///
/// Thread safety: pure functions on caller memory.
namespace zlink::engine::z85 {

inline constexpr std::size_t group_bytes = 4;
inline constexpr std::size_t group_digits = 5;

/// Characters of a CURVE key, which has 32 bytes.
inline constexpr std::size_t key_digits = 40;

/// Writes the text of `size` bytes, a multiple of 4, and a NUL to `out`.
void encode(char* out, const std::uint8_t* bytes, std::size_t size) noexcept;

/// Writes the bytes of a text, whose length is a multiple of 5, to `out`. False if it is no text of
/// bytes; some may have been written then.
bool decode(std::uint8_t* out, std::string_view text) noexcept;

} // namespace zlink::engine::z85
