// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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
    // With many connections:
    to_many_router,   ///< one ROUTER sends to each of many DEALER in turn
    to_many_push,     ///< one PUSH to many PULL
    to_many_pub,      ///< one PUB to many SUB, which all receive every message
    from_many_push,   ///< many PUSH to one PULL
    from_many_dealer, ///< many DEALER to one ROUTER
    broker,           ///< DEALER clients, zmq_proxy from ROUTER to DEALER, DEALER workers that echo
    forwarder,        ///< PUB, zmq_proxy from XSUB to XPUB, SUB
    connections,      ///< many DEALER connect to one ROUTER and send one message each
};

enum class transport { tcp, ipc, inproc, ws, tls, wss };

enum class mode {
    throughput,
    latency,
    loaded, ///< latency while messages are sent at a fixed rate, whatever becomes of them
};

/// What secures the connections. PLAIN is not there: its frames are those of NULL.
enum class mechanism { null, curve };

/// Which calls carry a message.
enum class api {
    buffer, ///< zmq_send and zmq_recv on buffers allocated beforehand
    msg,    ///< zmq_msg_init_size, memcpy and zmq_msg_send; zmq_msg_recv
};

/// How many take part in a cell with many connections. Each of these patterns has some of them.
enum class dimension {
    peers,       ///< sockets that one socket sends to, or that connect to it
    threads,     ///< that send
    sockets,     ///< of each of these threads
    clients,     ///< of a broker, each with a thread of its own
    workers,     ///< likewise
    window,      ///< requests that each client has under way
    publishers,  ///< each with a thread of its own
    subscribers, ///< all in one thread
};

/// One point of the comparison: what is measured, apart from the library that is measured.
struct cell {
    bench::pattern pattern = pattern::pair;
    bench::transport transport = transport::tcp;
    bench::mode mode = mode::throughput;
    std::size_t size_bytes = 64; ///< message body, without routing id; at least min_size_bytes()
    std::vector<int> extents;    ///< one for each of dimensions_of(pattern)
    int io_threads = 1;          ///< of each context
    bench::api api = api::buffer;
    bench::mechanism mechanism = mechanism::null;

    bool operator==(const cell&) const = default;
};

/// The body starts with a 64-bit sequence number, so it cannot be smaller than that.
inline constexpr std::size_t min_size_bytes = sizeof(std::uint64_t);

/// Where time is taken with many connections, the number is followed by a time of 64 bits.
inline constexpr std::size_t min_timed_size_bytes = min_size_bytes + sizeof(std::int64_t);

/// Names as used on the command line and in results, with their values.
const std::map<std::string, pattern>& pattern_names();
const std::map<std::string, transport>& transport_names();
const std::map<std::string, mode>& mode_names();
const std::map<std::string, api>& api_names();
const std::map<std::string, mechanism>& mechanism_names();
const std::map<std::string, dimension>& dimension_names();

std::string_view name(pattern value);
std::string_view name(transport value);
std::string_view name(mode value);
std::string_view name(api value);
std::string_view name(mechanism value);
std::string_view name(dimension value);

/// True if the cells of this pattern have more than one connection.
bool has_many_connections(pattern value);

/// What has to be chosen about the cells of a pattern; nothing for those with one connection.
const std::vector<dimension>& dimensions_of(pattern value);

/// An extent of a cell; 1 if the pattern does not have that dimension.
int extent(const cell& what, dimension wanted);

/// "broker 4x4x100, 2 I/O threads, msg": the pattern, its extents and what is not the default.
std::string label(const cell& what);

/// Sockets on the side that is many: those that receive from one, send to one, or use a broker.
int party_count(const cell& what);

/// True if the cells differ in nothing but their transport.
bool same_but_for_transport(const cell& left, cell right);

/// True if TLS secures the connections of a transport.
bool has_tls(transport value);

/// False if there is no such thing: STREAM is for tcp and tls, within the process and for STREAM
/// there is no mechanism, a load needs many connections, and only a broker of these has round
/// trips.
bool exists(const cell& what);

/// True if the messages of a cell with many connections carry the time they are counted from.
bool is_timed(const cell& what);

/// True if a cell is a sequence of round trips: every latency cell, and req_rep in either mode.
bool is_round_trip(const cell& what);

/// Number of timed messages (round trips for round-trip cells, requests for a broker, deliveries to
/// subscribers) that takes very roughly one second on a machine that moves a million 64-byte
/// messages per second. Depends on nothing but the cell, so that every library has to do the same
/// work.
std::uint64_t default_count(const cell& what);

} // namespace zlink::bench
