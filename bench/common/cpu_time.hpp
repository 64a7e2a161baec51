// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zlink::bench {

/// CPU time of this process, all threads, in nanoseconds.
struct cpu_time {
    std::int64_t total_ns = 0;  ///< exact, from the process clock
    std::int64_t user_ns = 0;   ///< getrusage, which counts ticks: good for the proportion
    std::int64_t system_ns = 0; ///< likewise

    static cpu_time now();
};

cpu_time operator-(const cpu_time& left, const cpu_time& right);
cpu_time operator+(const cpu_time& left, const cpu_time& right);

} // namespace zlink::bench
