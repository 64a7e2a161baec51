// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cpu_time.hpp"
#include "worker/run_guard.hpp"
#include "worker/settings.hpp"

#include <cstdint>
#include <vector>

namespace zlink::bench::worker {

/// What a cell with many connections measured.
struct crowd_report {
    std::uint64_t messages = 0; ///< that arrived in the timed part, none missing
    std::int64_t elapsed_ns = 0;
    cpu_time cpu; ///< of the whole process
    std::uint64_t peak_memory_kib = 0;
    std::vector<std::int64_t> latencies_ns; ///< if the cell is timed; a broker's are round trips
    std::uint64_t grown_kib = 0;            ///< connections: memory that they have taken
    std::uint64_t grown_idle_kib = 0;       ///< the same without what is free again
};

/// Measures a cell with many connections, with all its threads in this process. Throws `failure`,
/// or ends the run through `guard`.
crowd_report measure_crowd(const settings& chosen, run_guard& guard);

/// The parts of measure_crowd().
crowd_report measure_to_many(const settings& chosen, run_guard& guard);
crowd_report measure_from_many(const settings& chosen, run_guard& guard);
crowd_report measure_broker(const settings& chosen, run_guard& guard);
crowd_report measure_forwarder(const settings& chosen, run_guard& guard);
crowd_report measure_connections(const settings& chosen, run_guard& guard);

} // namespace zlink::bench::worker
