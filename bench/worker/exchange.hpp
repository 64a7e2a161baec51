// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cpu_time.hpp"
#include "worker/control_channel.hpp"
#include "worker/message_port.hpp"
#include "worker/settings.hpp"
#include "worker/usage.hpp"

#include <cstdint>
#include <vector>

namespace zlink::bench::worker {

/// What one side saw of the timed part.
struct side_report {
    std::int64_t elapsed_ns = 0;              ///< only on the measuring side
    std::vector<std::int64_t> round_trips_ns; ///< only on the measuring side, in latency mode
    cpu_time cpu;                             ///< of the whole process
};

/// Warms the connection up, then moves the timed messages. Both sides call this at the same time.
side_report run_exchange(const settings& chosen, side mine, message_port& port,
                         control_channel& control);

} // namespace zlink::bench::worker
