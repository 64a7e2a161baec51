// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"
#include "common/cpu_time.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zlink::bench {

/// What a message takes on the wire: ZMTP's header and the body.
std::size_t framed(std::size_t body_bytes);

/// A stream of bytes in one direction.
struct flow {
    double elapsed_s = 0;
    double bytes_per_s = 0;
    cpu_time cpu; ///< of both sides
};

/// Sends so many bytes over a new connection, each side in a thread that sleeps when it has to.
flow stream(transport over, std::size_t bytes);

/// Round trips.
struct dialogue {
    std::vector<double> one_way_us; ///< half of each round trip, sorted
    double elapsed_s = 0;
    cpu_time cpu; ///< of both sides

    double mean_us() const;
    double percentile_us(double share) const; ///< nearest rank
};

/// Sends messages of so many bytes there and back over a new connection. Both sides try to read
/// again and again instead of sleeping.
dialogue talk(transport over, std::size_t bytes, std::uint64_t round_trips);

} // namespace zlink::bench
