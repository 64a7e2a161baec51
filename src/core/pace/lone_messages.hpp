// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace zlink::core {

/// Messages of one link that had better not wait for others, though their thread sends in a stream:
/// batches of this link have waited as long as they may, and nothing has joined the first message.
/// Then the next ones are written at once, more of them each time that this repeats itself. See
/// docs/decisions 0022.
/// Thread safety: as said with each function.
class lone_messages {
public:
    /// Any thread. A batch of so many messages was written because it was due.
    void batch_was_due(std::uint64_t messages) noexcept
    {
        unsigned length = length_.load(std::memory_order_relaxed);
        length = messages > 1 ? tuning::batching::min_unbatched_messages
                              : std::min(length * 2, tuning::max_trial_interval);
        length_.store(length, std::memory_order_relaxed);
        left_.store(messages > 1 ? 0 : length, std::memory_order_relaxed);
    }
    /// The sending thread: is the next message one of them?
    bool take() noexcept
    {
        const unsigned left = left_.load(std::memory_order_relaxed);
        if (left == 0 || !base::rule_is_on(base::rule::unbatched_trials))
            return false;
        left_.store(left - 1, std::memory_order_relaxed);
        return true;
    }

private:
    std::atomic<unsigned> length_{tuning::batching::min_unbatched_messages};
    std::atomic<unsigned> left_{0};
};

} // namespace zlink::core
