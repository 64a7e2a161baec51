// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace zlink::bench::worker {

/// The times at which messages of an open loop are due: at a fixed rate, whatever became of those
/// before. The latency of a message counts from the time it was due if the thread was late because
/// it was sending, so that a library that holds the sender up does not look fast. If the system
/// woke the sleeping thread late, it counts from then. For one thread.
class pace {
public:
    /// `clock` tells monotonic nanoseconds; the default is the system's.
    explicit pace(double per_second, std::function<std::int64_t()> clock = nullptr);

    /// The first message is due now, or by this share of an interval later.
    void start(double share_of_interval = 0);

    /// Tells from when the next message counts if it is due, and turns to the one after it.
    std::optional<std::int64_t> take_due();

    /// When the next message is due.
    std::int64_t next_due_ns() const { return due_ns(taken_); }

    /// The thread has waited, with nothing due before: what is due by now counts from now.
    void slept();

    /// Sleeps until the next message is due, and takes it.
    std::int64_t wait();

private:
    std::int64_t due_ns(std::uint64_t number) const
    {
        return start_ns_ + static_cast<std::int64_t>(static_cast<double>(number) * interval_ns_);
    }

    std::function<std::int64_t()> clock_;
    double interval_ns_;
    std::int64_t start_ns_ = 0;
    std::int64_t known_ns_ = 0; ///< it is at least as late as this
    std::int64_t woken_ns_ = 0;
    std::uint64_t taken_ = 0;
};

} // namespace zlink::bench::worker
