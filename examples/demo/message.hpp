// SPDX-License-Identifier: Apache-2.0
//
// The messages of the demonstration: sequence number, checksum, and a body that both ends can
// compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace demo {

inline constexpr std::size_t header_bytes = 2 * sizeof(std::uint64_t);

/// Small messages, now and then a larger one: the sizes where libraries change their ways.
inline std::size_t body_bytes(std::uint64_t sequence)
{
    if (sequence % 1000 == 999) {
        return 100'000;
    }
    if (sequence % 50 == 49) {
        return 1024 + sequence % 7;
    }
    return sequence % 64;
}

/// FNV-1a, 64 bits.
inline std::uint64_t checksum(std::string_view body)
{
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : body) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
    return hash;
}

/// The message number `sequence`. Both ends are on one machine, so the header has its byte order.
inline std::string make_message(std::uint64_t sequence)
{
    std::string message(header_bytes + body_bytes(sequence), '\0');
    std::uint64_t state = sequence + 1;
    for (std::size_t at = header_bytes; at < message.size(); ++at) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        message[at] = static_cast<char>(state >> 56);
    }
    const std::uint64_t sum = checksum(std::string_view(message).substr(header_bytes));
    std::memcpy(message.data(), &sequence, sizeof sequence);
    std::memcpy(message.data() + sizeof sequence, &sum, sizeof sum);
    return message;
}

/// Throws std::runtime_error unless `message` is exactly the one numbered `expected`.
inline void verify(std::string_view message, std::uint64_t expected)
{
    const auto fail = [&](const char* what) {
        throw std::runtime_error("message " + std::to_string(expected) + ": " + what);
    };
    if (message.size() < header_bytes) {
        fail("shorter than its header");
    }
    std::uint64_t sequence = 0;
    std::uint64_t sum = 0;
    std::memcpy(&sequence, message.data(), sizeof sequence);
    std::memcpy(&sum, message.data() + sizeof sequence, sizeof sum);
    if (sequence != expected) {
        fail(("number " + std::to_string(sequence) + " came instead").c_str());
    }
    if (message.size() != header_bytes + body_bytes(expected)) {
        fail("wrong size");
    }
    if (checksum(message.substr(header_bytes)) != sum) {
        fail("wrong checksum");
    }
}

} // namespace demo
