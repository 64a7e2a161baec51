// SPDX-License-Identifier: Apache-2.0
#include "worker/usage.hpp"

#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <ctime>
#include <fstream>

namespace zlink::bench::worker {

std::int64_t now_ns()
{
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t peak_memory_kib()
{
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;) {
        std::uint64_t kib = 0;
        if (key == "VmHWM:" && status >> kib) {
            return kib;
        }
    }
    return 0;
}

void pin_this_thread(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
        CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
        throw failure(fmt::format("cannot pin a thread to CPU {}", cpu));
    }
}

} // namespace zlink::bench::worker
