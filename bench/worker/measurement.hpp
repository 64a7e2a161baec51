// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cpu_time.hpp"
#include "worker/crowd.hpp"
#include "worker/exchange.hpp"
#include "worker/settings.hpp"
#include "worker/zmq_handles.hpp"

#include <string>
#include <string_view>

namespace zlink::bench::worker {

/// Runs one side from its sockets to the end of the timed part. `owner` is the context to use.
/// The side that does not measure finally tells the other about its process.
side_report run_side(const settings& chosen, side mine, const context& owner,
                     control_channel& control);

/// What the measuring side learns about the process of the other side.
struct peer_report {
    cpu_time cpu;
    std::uint64_t peak_memory_kib = 0;

    static peer_report receive(control_channel& control);
    void send(control_channel& control) const;
};

/// The line that reports a finished run. `peer` counts only if it was a process of its own.
std::string result_line(const settings& chosen, side_report report, const peer_report& peer);

/// The same for a cell with many connections.
std::string result_line(const settings& chosen, crowd_report report);

/// The line that reports a failed run.
std::string error_line(const settings& chosen, std::string_view status, std::string_view reason);

/// The line that tells which library this process uses.
std::string identity_line();

} // namespace zlink::bench::worker
