// SPDX-License-Identifier: Apache-2.0
#include "worker/usage.hpp"

#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>

namespace zlink::bench::worker {

namespace {

std::int64_t read_clock_ns(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t to_ns(const timeval& time)
{
    return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1'000;
}

} // namespace

cpu_time cpu_time::now()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return {read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), to_ns(used.ru_utime), to_ns(used.ru_stime)};
}

cpu_time operator-(const cpu_time& left, const cpu_time& right)
{
    return {left.total_ns - right.total_ns, left.user_ns - right.user_ns,
            left.system_ns - right.system_ns};
}

cpu_time operator+(const cpu_time& left, const cpu_time& right)
{
    return {left.total_ns + right.total_ns, left.user_ns + right.user_ns,
            left.system_ns + right.system_ns};
}

std::int64_t now_ns()
{
    return read_clock_ns(CLOCK_MONOTONIC);
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
