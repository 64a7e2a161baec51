// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zlink::test {

/// Which sockets talk to each other.
enum class soak_pattern : std::uint8_t {
    push_pull,
    pair,
    channel,
    scatter_gather,
    pub_sub,
    xpub_xsub,
    radio_dish,
    req_rep,
    dealer_router,
    client_server,
    stream,
};

/// What happens to them meanwhile.
enum class soak_break : std::uint8_t {
    calm,     ///< nothing
    paused,   ///< receivers stop for a while
    leaving,  ///< those that connect are closed as soon as they have sent, and others come
    moving,   ///< those that connect disconnect, and connect again
    rebound,  ///< the one that is bound unbinds, and binds again
    replaced, ///< a receiver is closed, and another takes its place
    cut,      ///< a relay in the middle resets the connections
};

/// How the messages of a pattern go.
enum class soak_shape : std::uint8_t {
    one_way,   ///< each to one receiver, and the sender waits if there is no room
    published, ///< each to every receiver
    answered,  ///< each comes back
    bytes,     ///< as a byte stream, from STREAM to STREAM
};

const char* name_of(soak_pattern pattern);
const char* name_of(soak_break what);
soak_shape shape_of(soak_pattern pattern);
/// Draft types, whose messages have one part.
bool is_thread_safe(soak_pattern pattern);

/// One combination.
struct soak_cell {
    std::string scheme;    ///< of the transport
    std::string mechanism; ///< "null", "plain" or "curve"
    soak_pattern pattern = soak_pattern::push_pull;
    soak_break breaks = soak_break::calm;

    /// Whether every message that was accepted for sending has to arrive.
    bool loses_nothing() const;
    std::string description() const;
};

/// What of all cells is wanted; an empty list stands for everything.
struct soak_wish {
    std::vector<std::string> schemes;
    std::vector<std::string> mechanisms;
    std::vector<std::string> patterns;
    std::vector<std::string> breaks;
};

/// Every combination that the library has and that makes sense.
std::vector<soak_cell> soak_cells(const soak_wish& wish);

} // namespace zlink::test
