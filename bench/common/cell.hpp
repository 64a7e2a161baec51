// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace zlink::bench {

/// Which sockets talk to each other, named source_sink.
enum class pattern {
    pair,
    pub_sub,
    push_pull,
    dealer_dealer,
    dealer_router,
    router_router,
    router_router_poll, ///< router_router with zmq_poll before each receive
    req_rep,
    stream,        ///< STREAM to STREAM: numbered records in a flow of bytes
    client_server, ///< draft types, like the next
    scatter_gather,
};

enum class transport { tcp, ipc, inproc };

enum class mode { throughput, latency };

/// One point of the comparison: what is measured, apart from the library that is measured.
struct cell {
    bench::pattern pattern = pattern::pair;
    bench::transport transport = transport::tcp;
    bench::mode mode = mode::throughput;
    std::size_t size_bytes = 64; ///< message body, without routing id; at least min_size_bytes
};

/// The body starts with a 64-bit sequence number, so it cannot be smaller than that.
inline constexpr std::size_t min_size_bytes = sizeof(std::uint64_t);

/// Names as used on the command line and in results, with their values.
const std::map<std::string, pattern>& pattern_names();
const std::map<std::string, transport>& transport_names();
const std::map<std::string, mode>& mode_names();

std::string_view name(pattern value);
std::string_view name(transport value);
std::string_view name(mode value);

/// False if the pattern knows nothing of the transport: STREAM is for tcp.
bool exists(const cell& what);

/// True if a cell is a sequence of round trips: every latency cell, and req_rep in either mode.
bool is_round_trip(const cell& what);

/// Number of timed messages (round trips for round-trip cells) that takes very roughly one second
/// on a machine that moves a million 64-byte messages per second. Depends on nothing but the cell,
/// so that every library has to do the same work.
std::uint64_t default_count(const cell& what);

} // namespace zlink::bench
