// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The block function of ChaCha (RFC 8439, section 2.3), for numbers that nobody can foresee.
///
/// Thread safety: a pure function on caller memory.
namespace zlink::engine::chacha {

inline constexpr std::size_t block_words = 16;
inline constexpr std::size_t key_words = 8;
/// As many blocks as one call makes: what any processor does in one go.
inline constexpr std::size_t blocks_at_once = 4;

/// A word of each block.
using lane [[gnu::vector_size(4 * blocks_at_once)]] = std::uint32_t;
using key = std::array<std::uint32_t, key_words>;
using blocks = std::array<lane, block_words>;

template <int Bits>
lane rotate(lane words) noexcept
{
    return words << Bits | words >> (32 - Bits);
}

inline void quarter_round(lane& a, lane& b, lane& c, lane& d) noexcept
{
    a += b;
    d = rotate<16>(d ^ a);
    c += d;
    b = rotate<12>(b ^ c);
    a += b;
    d = rotate<8>(d ^ a);
    c += d;
    b = rotate<7>(b ^ c);
}

/// Makes the blocks `counter` to `counter + 3`: word i of block j is out[i][j]. `rounds` is even.
inline void make_blocks(blocks& out, const key& secret, std::uint32_t counter,
                        const std::array<std::uint32_t, 3>& nonce, int rounds) noexcept
{
    const auto all = [](std::uint32_t word) { return lane{word, word, word, word}; };
    blocks begin{all(0x61707865), all(0x3320646e), all(0x79622d32), all(0x6b206574)};
    for (std::size_t i = 0; i < key_words; ++i)
        begin[4 + i] = all(secret[i]);
    begin[12] = all(counter) + lane{0, 1, 2, 3};
    for (std::size_t i = 0; i < nonce.size(); ++i)
        begin[13 + i] = all(nonce[i]);
    out = begin;
    for (; rounds > 0; rounds -= 2) {
        for (std::size_t i = 0; i < 4; ++i)
            quarter_round(out[i], out[4 + i], out[8 + i], out[12 + i]);
        for (std::size_t i = 0; i < 4; ++i)
            quarter_round(out[i], out[4 + (i + 1) % 4], out[8 + (i + 2) % 4],
                          out[12 + (i + 3) % 4]);
    }
    for (std::size_t i = 0; i < block_words; ++i)
        out[i] += begin[i];
}

} // namespace zlink::engine::chacha
