// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace zlink::bench::worker {

/// CPU time of this process, all threads, in nanoseconds.
struct cpu_time {
    std::int64_t total_ns = 0;  ///< exact, from the process clock
    std::int64_t user_ns = 0;   ///< getrusage, which counts ticks: good for the proportion
    std::int64_t system_ns = 0; ///< likewise

    static cpu_time now();
};

cpu_time operator-(const cpu_time& left, const cpu_time& right);
cpu_time operator+(const cpu_time& left, const cpu_time& right);

/// Monotonic time in nanoseconds.
std::int64_t now_ns();

/// Largest resident size this process has had so far (VmHWM), in KiB; 0 if unknown.
std::uint64_t peak_memory_kib();

/// Binds the calling thread to one CPU; throws `failure` if that CPU cannot be used.
void pin_this_thread(int cpu);

} // namespace zlink::bench::worker
