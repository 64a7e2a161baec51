// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::test {

/// 2^`bits` names of 16 * `bits` bytes that all have the same std::hash, as long as that is
/// MurmurHash64A: two words in a row that differ in what becomes the highest bit only make no
/// difference together. Empty if this library hashes otherwise.
inline std::vector<std::string> colliding_names(int bits)
{
    constexpr std::uint64_t factor = 0xc6a4a7935bd1e995;
    constexpr std::uint64_t inverse = [] { // modulo 2^64
        std::uint64_t x = factor;
        for (int i = 0; i < 6; ++i)
            x *= 2 - factor * x;
        return x;
    }();
    const auto two_words_for = [](std::uint64_t mixed) { // what the hash mixes to this
        std::uint64_t word = mixed * inverse;
        word ^= word >> 47;
        word *= inverse;
        std::string bytes(2 * sizeof word, '\0');
        std::memcpy(bytes.data(), &word, sizeof word);
        std::memcpy(bytes.data() + sizeof word, &word, sizeof word);
        return bytes;
    };
    const std::string choices[] = {two_words_for(1), two_words_for(std::uint64_t{1} << 63 | 1)};
    std::vector<std::string> names;
    for (int number = 0; number < 1 << bits; ++number) {
        std::string name;
        for (int bit = 0; bit < bits; ++bit)
            name += choices[number >> bit & 1];
        names.push_back(name);
    }
    const std::hash<std::string_view> common;
    if (common(names.front()) != common(names.back()))
        names.clear();
    return names;
}

} // namespace zlink::test
