// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "base/wait/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace zlink::core {

/// Decides whether large bodies of a connection are read into the receiver's memory, or into blocks
/// and copied from there, by what the reads have taken.
///
/// Receiving into the caller's memory spares a copy but is not always faster. With 4K aliasing, on
/// processors whose string move is slow when the lowest 12 bits of the destination are just above
/// those of the source, the kernel's copy takes up to 16 times as long, and memory from
/// malloc() behind a frame header meets that case. So both destinations are timed. See
/// docs/decisions/0016.
///
/// Thread safety: one thread at a time.
class receive_placement {
public:
    using duration = base::steady_clock::duration;

    /// Is the next body to be read into the receiver's memory?
    bool outside() const noexcept
    {
        if (!base::rule_is_on(base::rule::receive_placement))
            return true;
        if (outside_.reads < tuning::placement::min_reads ||
            block_.reads < tuning::placement::min_reads)
            return outside_.reads < tuning::placement::min_reads;
        return outside_.ns_per_byte <= block_.ns_per_byte + tuning::placement::copy_ns_per_byte;
    }
    /// A read has moved `bytes` bytes.
    void note(bool was_outside, std::size_t bytes, duration took) noexcept
    {
        (was_outside ? outside_ : block_).add(bytes, took);
        if (++reads_ % tuning::placement::reads_between_trials ==
            0) // conditions change: what was worse is tried again
            (outside() ? block_ : outside_) = {};
    }

private:
    struct place {
        unsigned reads = 0; ///< counted up to tuning::placement::min_reads
        double ns_per_byte = 0;

        void add(std::size_t bytes, duration took) noexcept
        {
            const double ns =
                std::chrono::duration<double, std::nano>(took).count() / static_cast<double>(bytes);
            const double change = ns - ns_per_byte;
            if (reads == 0)
                ns_per_byte = ns;
            else // one that was interrupted counts little
                ns_per_byte += std::min(change / 5, ns_per_byte / 4);
            if (reads < tuning::placement::min_reads)
                ++reads;
        }
    };

    place outside_;
    place block_;
    unsigned reads_ = 0;
};

} // namespace zlink::core
