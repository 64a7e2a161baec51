// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

namespace zlink::bench::worker {

/// Counts what threads report until it is as many as expected. Thread-safe.
class roll_call {
public:
    explicit roll_call(std::size_t expected) : missing_(expected) {}

    void present()
    {
        const std::lock_guard lock(mutex_);
        if (missing_ > 0 && --missing_ == 0) {
            complete_.notify_all();
        }
    }

    /// True as soon as all are present, false if that is not so within the time.
    bool wait_for(std::chrono::milliseconds time)
    {
        std::unique_lock lock(mutex_);
        return complete_.wait_for(lock, time, [this] { return missing_ == 0; });
    }

    /// Calls `send_probe` until all are present, which the probes lead to, at growing intervals, so
    /// that probes never fill a queue.
    void announce(const std::function<void()>& send_probe)
    {
        constexpr std::chrono::milliseconds longest(100);
        for (std::chrono::milliseconds pause(1);; pause = std::min(2 * pause, longest)) {
            send_probe();
            if (wait_for(pause)) {
                return;
            }
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable complete_;
    std::size_t missing_;
};

} // namespace zlink::bench::worker
