// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cpu_time.hpp"
#include "worker/crowd.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>

namespace zlink::bench::worker {

/// The timed part of a run with several threads on either side. Starts when all that was sent
/// to warm up has arrived, ends when the last receiver has all. Thread-safe as noted.
class timed_part {
public:
    explicit timed_part(std::size_t receivers)
        : warming_up_(static_cast<std::ptrdiff_t>(receivers)), start_(1)
    {}

    void warmed_up() { warming_up_.count_down(); } ///< each receiver, in its thread
    void wait_for_start() { start_.wait(); }       ///< each sender, in its thread
    void finished();                               ///< each receiver, in its thread

    /// Starts the clocks when all have warmed up.
    void begin();

    /// What this measured. Call once, when the threads have ended.
    crowd_report report(std::uint64_t messages) const;

private:
    std::latch warming_up_;
    std::latch start_;
    cpu_time cpu_before_;
    std::int64_t start_ns_ = 0;
    std::atomic<std::int64_t> end_ns_{0};
};

} // namespace zlink::bench::worker
