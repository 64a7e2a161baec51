// SPDX-License-Identifier: Apache-2.0
#include "worker/usage.hpp"

#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <cstddef>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

namespace zlink::bench::worker {

namespace {

std::uint64_t status_field_kib(std::string_view wanted)
{
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;) {
        std::uint64_t kib = 0;
        if (key == wanted && status >> kib) {
            return kib;
        }
    }
    return 0;
}

} // namespace

std::int64_t now_ns()
{
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t peak_memory_kib()
{
    return status_field_kib("VmHWM:");
}

std::uint64_t resident_memory_kib()
{
    return status_field_kib("VmRSS:");
}

void require_descriptors_for(int sockets)
{
    // Each connection has two ends, and each socket may have a descriptor of its own.
    constexpr rlim_t per_socket = 4;
    constexpr rlim_t spare = 200;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t needed = per_socket * static_cast<rlim_t>(sockets) + spare;
    if (limit.rlim_cur < needed) {
        throw failure(fmt::format("{} descriptors are needed, the limit is {} (ulimit -n)", needed,
                                  limit.rlim_cur));
    }
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
