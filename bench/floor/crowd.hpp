// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/channel.hpp"
#include "common/cell.hpp"
#include "worker/crowd.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace zlink::bench {

/// A cell with many connections as it is measured without a library.
struct crowd_run {
    cell what;
    transport carrier = transport::tcp; ///< of the bytes: tcp, ipc or tls
    std::uint64_t count = 0;            ///< timed messages, as the worker of the benchmarks counts
    std::uint64_t warm_up = 0;
    int hwm = 1000;        ///< the most messages that are gathered for a connection
    int receivers = 1;     ///< threads that receive from many connections
    double per_second = 0; ///< messages, in loaded mode
};

/// False for connections over tls: `zlink_bench_handshakes` is for those.
bool has_crowd_floor(const cell& what, transport carrier);

/// Makes the measurement, with as many application threads as the worker has, on sockets alone.
/// Threads sleep when there is nothing to do; those of a broker over tcp or ipc do so at once in
/// one measurement and after some tries in another one, of which the better counts. Throws
/// std::exception; a failure in one of the threads ends the process.
worker::crowd_report measure_crowd_floor(const crowd_run& wanted);

/// The parts of it.
worker::crowd_report measure_many_streams(const crowd_run& wanted);
worker::crowd_report measure_bare_broker(const crowd_run& wanted);
worker::crowd_report measure_bare_connects(const crowd_run& wanted);

/// Starts a thread that says why it failed and ends the process if it throws, because other threads
/// may be waiting for what will not come.
std::thread start_guarded(std::function<void()> body);

} // namespace zlink::bench
