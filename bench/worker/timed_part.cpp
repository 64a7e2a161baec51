// SPDX-License-Identifier: Apache-2.0
#include "worker/timed_part.hpp"

#include "worker/usage.hpp"

namespace zlink::bench::worker {

void timed_part::finished()
{
    const std::int64_t now = now_ns();
    std::int64_t latest = end_ns_.load();
    while (latest < now && !end_ns_.compare_exchange_weak(latest, now)) {
    }
}

void timed_part::begin()
{
    warming_up_.wait();
    cpu_before_ = cpu_time::now();
    start_ns_ = now_ns();
    start_.count_down();
}

crowd_report timed_part::report(std::uint64_t messages) const
{
    crowd_report measured;
    measured.messages = messages;
    measured.elapsed_ns = end_ns_.load() - start_ns_;
    measured.cpu = cpu_time::now() - cpu_before_;
    measured.peak_memory_kib = peak_memory_kib();
    return measured;
}

} // namespace zlink::bench::worker
