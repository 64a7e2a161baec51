// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// The three conversions between protocol text and raw bytes that the engine needs.
///
/// Thread safety: pure functions on caller memory. Lifetime: views borrow from their argument.
namespace zlink::engine {

/// The characters of `text` as bytes.
inline std::span<const std::byte> as_bytes(std::string_view text) noexcept
{
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// The same memory seen as characters; may contain any value, NUL included.
inline std::string_view as_text(std::span<const std::byte> bytes) noexcept
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Appends `bytes`, which must not be a part of `out`.
inline void append_bytes(std::vector<std::byte>& out, std::span<const std::byte> bytes)
{
    out.insert(out.end(), bytes.begin(), bytes.end());
}

} // namespace zlink::engine
