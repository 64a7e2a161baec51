// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/curve/box.hpp"
#include "engine/curve/counter.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::engine::curve {

/// The stream of Salsa20 that encrypts one message: for a key, and a counter that is used once.
///
/// libsodium is fast for whole pieces of 256 or 512 bytes only; it makes what is beyond them by
/// single blocks of 64 bytes, so that 511 bytes take it three times as long as 512. Therefore the
/// last piece of a text is made whole, and cut.
///
/// Thread safety: const operations are safe. It refers to the key and the counter.
class key_stream {
public:
    static constexpr std::size_t block_bytes = 64;
    /// What is made at once.
    static constexpr std::size_t piece_bytes = 8 * block_bytes;

    key_stream(const std::array<std::byte, key_bytes>& key, const std::byte* counter) noexcept
        : key_(key), counter_(counter)
    {}

    /// Writes `in` XOR the stream from block `first_block` on to `out`, of `bytes` each, which are
    /// the same or do not overlap.
    void apply(std::byte* out, const std::byte* in, std::size_t bytes,
               std::uint64_t first_block) const noexcept;

private:
    const std::array<std::byte, key_bytes>& key_;
    const std::byte* counter_; ///< counter_bytes
};

} // namespace zlink::engine::curve
