// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/key.hpp"

#include "base/system/random_bytes.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace zlink::transport::websocket {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t key_bytes = 16;

using state = std::array<std::uint32_t, 5>;

std::uint32_t big_endian_word(const std::byte* at)
{
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i)
        word = word << 8 | std::to_integer<std::uint32_t>(at[i]);
    return word;
}

void take_block(state& hash, const std::byte* block)
{
    std::array<std::uint32_t, 80> schedule;
    for (std::size_t t = 0; t < 16; ++t)
        schedule[t] = big_endian_word(block + 4 * t);
    for (std::size_t t = 16; t < 80; ++t)
        schedule[t] =
            std::rotl(schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16], 1);
    auto [a, b, c, d, e] = hash;
    for (std::size_t t = 0; t < 80; ++t) {
        const std::uint32_t mixed = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999U
                                    : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1U
                                    : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU
                                             : (b ^ c ^ d) + 0xca62c1d6U;
        const std::uint32_t next = std::rotl(a, 5) + mixed + e + schedule[t];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    const state worked{a, b, c, d, e};
    for (std::size_t i = 0; i < hash.size(); ++i)
        hash[i] += worked[i];
}

} // namespace

std::array<std::byte, 20> sha1(std::span<const std::byte> bytes)
{
    std::vector<std::byte> padded(bytes.begin(), bytes.end());
    padded.push_back(std::byte{0x80});
    // The length in bits follows.
    while (padded.size() % block_bytes != block_bytes - sizeof(std::uint64_t))
        padded.push_back(std::byte{0});
    const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    for (int shift = 56; shift >= 0; shift -= 8)
        padded.push_back(static_cast<std::byte>(bits >> shift));

    state hash{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
    for (std::size_t at = 0; at != padded.size(); at += block_bytes)
        take_block(hash, padded.data() + at);
    std::array<std::byte, 20> digest{};
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::byte>(hash[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

std::string base64(std::span<const std::byte> bytes)
{
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8 | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
        for (std::size_t i = 0; i < 4; ++i)
            text += i <= count ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

std::string accept_value(std::string_view key)
{
    std::string text(key);
    text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    return base64(sha1(std::as_bytes(std::span(text))));
}

std::string fresh_key()
{
    std::array<std::byte, key_bytes> bytes{};
    return base::fill_random(bytes) ? base64(bytes) : std::string();
}

} // namespace zlink::transport::websocket
