// SPDX-License-Identifier: Apache-2.0
#include "common/cpu_time.hpp"

#include <sys/resource.h>

#include <ctime>

namespace zlink::bench {

namespace {

std::int64_t to_ns(const timeval& time)
{
    return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1'000;
}

} // namespace

cpu_time cpu_time::now()
{
    timespec total{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &total);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return {std::int64_t{total.tv_sec} * 1'000'000'000 + total.tv_nsec, to_ns(used.ru_utime),
            to_ns(used.ru_stime)};
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

} // namespace zlink::bench
