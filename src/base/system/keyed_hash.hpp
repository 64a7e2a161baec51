// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace zlink::base {

/// The secret of a keyed_hash.
struct hash_key {
    std::uint64_t low;
    std::uint64_t high;
};

/// The number that these bytes are, the lowest one first.
template <std::size_t bytes>
std::uint64_t load_bytes(const char* at) noexcept
{
    std::uint64_t number = 0;
    if constexpr (std::endian::native == std::endian::little) {
        std::memcpy(&number, at, bytes);
    } else {
        for (std::size_t i = 0; i < bytes; ++i)
            number |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    return number;
}

/// The same, of 7 at most: in pieces that overlap, where a loop would take longer.
inline std::uint64_t load_fewer_than_8(const char* at, std::size_t bytes) noexcept
{
    if (bytes >= 4)
        return load_bytes<4>(at) | load_bytes<4>(at + bytes - 4) << (8 * (bytes - 4));
    if (bytes == 0)
        return 0;
    return load_bytes<1>(at) | load_bytes<1>(at + bytes / 2) << (8 * (bytes / 2)) |
           load_bytes<1>(at + bytes - 1) << (8 * (bytes - 1));
}

/// SipHash, a keyed hash by Aumasson and Bernstein, with `rounds` for each 8 bytes and
/// `last_rounds` at the end.
template <int rounds, int last_rounds>
std::uint64_t siphash(const hash_key& key, std::string_view text) noexcept
{
    std::uint64_t a = key.low ^ 0x736f6d6570736575;
    std::uint64_t b = key.high ^ 0x646f72616e646f6d;
    std::uint64_t c = key.low ^ 0x6c7967656e657261;
    std::uint64_t d = key.high ^ 0x7465646279746573;
    const auto mix = [&](int times) {
        while (times-- > 0) {
            a += b;
            b = std::rotl(b, 13) ^ a;
            a = std::rotl(a, 32);
            c += d;
            d = std::rotl(d, 16) ^ c;
            a += d;
            d = std::rotl(d, 21) ^ a;
            c += b;
            b = std::rotl(b, 17) ^ c;
            c = std::rotl(c, 32);
        }
    };
    const auto absorb = [&](std::uint64_t word) {
        d ^= word;
        mix(rounds);
        a ^= word;
    };
    const char* at = text.data();
    std::size_t rest = text.size();
    for (; rest >= 8; rest -= 8, at += 8)
        absorb(load_bytes<8>(at));
    absorb(load_fewer_than_8(at, rest) | std::uint64_t{text.size()} << 56);
    c ^= 0xff;
    mix(last_rounds);
    return a ^ b ^ c ^ d;
}

/// Hashes names that peers choose, by a secret of this process: nobody outside can choose many
/// that share a place in a hash table. Names are looked up without making a std::string.
///
/// Thread safety: any thread. Constructing one throws if the system has no random numbers.
class keyed_hash {
public:
    using is_transparent = void;

    keyed_hash();

    // Not noexcept: hash tables of the standard library then keep each name's hash with it, rather
    // than work it out anew for the names that they pass on the way to another.
    std::size_t operator()(std::string_view name) const noexcept(false)
    {
        return static_cast<std::size_t>(siphash<1, 3>(key_, name));
    }

private:
    hash_key key_;
};

} // namespace zlink::base
