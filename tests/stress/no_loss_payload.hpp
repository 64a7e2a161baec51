// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink::test {

/// Smallest message: sequence number and checksum.
inline constexpr std::size_t payload_header_bytes = 16;

inline std::uint64_t mix(std::uint64_t value)
{
    value ^= value >> 30;
    value *= 0xbf58476d1ce4e5b9u;
    value ^= value >> 27;
    value *= 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/// Checksum over the number and everything behind the header.
inline std::uint64_t payload_checksum(const unsigned char* message, std::size_t size_bytes)
{
    std::uint64_t number = 0;
    std::memcpy(&number, message, sizeof number);
    std::uint64_t sum = mix(number + size_bytes);
    for (std::size_t at = payload_header_bytes; at < size_bytes; at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        const std::size_t left = size_bytes - at;
        std::memcpy(&word, message + at, left < sizeof word ? left : sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    return sum;
}

/// Writes message `number`; its content differs from that of every other number.
inline void fill_payload(unsigned char* message, std::size_t size_bytes, std::uint64_t number)
{
    std::memcpy(message, &number, sizeof number);
    std::uint64_t word = mix(number + 1);
    for (std::size_t at = payload_header_bytes; at < size_bytes; at += sizeof word) {
        const std::size_t left = size_bytes - at;
        std::memcpy(message + at, &word, left < sizeof word ? left : sizeof word);
        word += 0x9e3779b97f4a7c15u;
    }
    const std::uint64_t sum = payload_checksum(message, size_bytes);
    std::memcpy(message + sizeof number, &sum, sizeof sum);
}

/// @return whether size, number and checksum are those of message `number`.
inline bool payload_is(const unsigned char* message, std::size_t size_bytes,
                       std::size_t expected_bytes, std::uint64_t number)
{
    if (size_bytes != expected_bytes || std::memcmp(message, &number, sizeof number) != 0)
        return false;
    const std::uint64_t sum = payload_checksum(message, size_bytes);
    return std::memcmp(message + sizeof number, &sum, sizeof sum) == 0;
}

} // namespace zlink::test
