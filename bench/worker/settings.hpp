// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace zlink::bench::worker {

/// The source sends the messages that are counted (or starts each round trip), the sink receives
/// them (or answers).
enum class side { source, sink };

/// Which calls carry a message.
enum class api {
    buffer, ///< zmq_send and zmq_recv on buffers allocated beforehand
    msg,    ///< zmq_msg_init_size, memcpy and zmq_msg_send; zmq_msg_recv
};

/// Everything one measurement depends on, with nothing left to be chosen.
struct settings {
    cell what;
    std::uint64_t count = 0;   ///< timed messages or round trips
    std::uint64_t warm_up = 0; ///< untimed ones before them, over the same connection; at least 1
    int hwm = 1000;            ///< ZMQ_SNDHWM and ZMQ_RCVHWM of every socket, in messages
    int io_threads = 1;        ///< of each context
    int contexts = 2;          ///< 1: both sides share a context
    bool two_processes = false;
    worker::api api = worker::api::buffer;
    std::vector<int> cpus; ///< empty, or the CPU of the source's thread and that of the sink's
    int timeout_s = 120;

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

/// Reads the command line. Prints help or a complaint and exits the process where appropriate.
settings parse_settings(int argc, char** argv);

} // namespace zlink::bench::worker
