// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zlink::bench::worker {

/// What the first 8 bytes of a body say where there are many connections: which of many parties the
/// message is about, and its place in the sequence of that party's messages.
struct message_number {
    std::uint32_t party = 0;    ///< below max_parties
    std::uint64_t sequence = 0; ///< at most probe_sequence_of_many

    static message_number from(std::uint64_t bits)
    {
        return {static_cast<std::uint32_t>(bits >> sequence_bits), bits & sequence_mask};
    }
    std::uint64_t bits() const { return std::uint64_t{party} << sequence_bits | sequence; }

    static constexpr int sequence_bits = 40;
    static constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << sequence_bits) - 1;
};

inline constexpr std::uint32_t max_parties = std::uint32_t{1} << 24;

/// Of messages that only find out whether a connection is up.
inline constexpr std::uint64_t probe_sequence_of_many = message_number::sequence_mask;

} // namespace zlink::bench::worker
