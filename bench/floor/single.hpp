// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"

#include <cstdint>
#include <string>

namespace zlink::bench {

/// One measurement as the worker of the benchmarks makes it.
struct single_run {
    cell what;
    std::uint64_t count = 0; ///< messages, or round trips; 0: what the worker would take
    double scale = 1;        ///< factor on the latter
    // With many connections:
    std::uint64_t warm_up = 0; ///< messages before those that are timed; 0: a tenth of them
    int hwm = 1000;            ///< the most messages that are gathered for a connection
    int receivers = 1;         ///< threads that receive from many connections
    double per_second = 0;     ///< messages, in loaded mode
};

/// Makes it and returns a line of JSON like the worker's. The transport that carries the bytes is
/// tcp for ws as well, and tls for wss. Patterns with one connection differ only in whether they
/// are round trips. Patterns with many connections are made of as many of them and as many threads.
/// CURVE, inproc, tls where the program was built without it, and connects over tls are skipped.
std::string measure_single(const single_run& wanted);

/// The line that tells what is measured: the version of OpenSSL, and this program.
std::string identify_floor();

} // namespace zlink::bench
