// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace zlink::bench::worker {

/// The source sends the messages that are counted (or starts each round trip), the sink receives
/// them (or answers).
enum class side { source, sink };

/// How one thread receives from many sockets.
enum class receive_order {
    turn, ///< one message from each in turn, waiting for it
    poll, ///< whichever has messages, found by epoll on ZMQ_FD
};

/// Everything one measurement depends on, with nothing left to be chosen.
struct settings {
    cell what;
    std::uint64_t count = 0;   ///< timed messages or round trips
    std::uint64_t warm_up = 0; ///< untimed ones before them, over the same connection; at least 1
    int hwm = 1000;            ///< ZMQ_SNDHWM and ZMQ_RCVHWM of every socket, in messages
    int contexts = 2;          ///< 1: both sides share a context
    bool two_processes = false;
    bool shows_counts = false; ///< what zlink has counted, of each socket
    std::vector<int> cpus;     ///< empty, or the CPU of the source's thread and that of the sink's
    int timeout_s = 120;
    double per_second = 0;                     ///< messages, in loaded mode
    int receivers = 1;                         ///< threads for many sockets that receive
    receive_order order = receive_order::turn; ///< PUSH to many: always poll
    int idle_subscribers = 0;                  ///< beside the peers; they never read

    bool identify = false;     ///< only tell which library was loaded
    int control_fd = -1;       ///< in a peer process: the inherited end of the control channel
    std::string ipc_directory; ///< where ipc endpoints are created
};

/// Side that runs on the main thread and takes the time: the one that sees the last message arrive.
inline side measuring_side(const cell& what)
{
    return is_round_trip(what) ? side::source : side::sink;
}

inline side other(side value)
{
    return value == side::source ? side::sink : side::source;
}

/// How many requests a client of a broker may have under way without the proxy's ROUTER dropping
/// replies: the manual lets a queue be full at a third of its high-water mark already.
inline std::uint64_t max_requests_under_way(int hwm)
{
    constexpr int part = 4;
    return hwm == 0 ? std::numeric_limits<std::uint64_t>::max()
                    : static_cast<std::uint64_t>(std::max(1, hwm / part));
}

/// Reads the command line. Prints help or a complaint and exits the process where appropriate.
settings parse_settings(int argc, char** argv);

} // namespace zlink::bench::worker
