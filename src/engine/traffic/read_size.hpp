// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zlink::engine {

/// How much a connection reads at a time. It doubles when a read fills what was offered, and halves
/// after a few small reads in a row: one of them between large ones is usual in a stream.
///
/// Thread safety: one thread at a time.
class read_size {
public:
    std::size_t bytes() const noexcept { return bytes_; }
    bool is_smallest() const noexcept { return bytes_ == tuning::reading::min_read_bytes; }
    /// The least room that is worth a read: the rest of a chunk of memory is used as long as it
    /// has this much, then a new chunk is better.
    std::size_t least_room_bytes() const noexcept { return bytes_ / 4; }

    /// The next read may take so many bytes.
    void offered(std::size_t bytes) noexcept { offered_bytes_ = bytes; }
    /// The read has taken so many of them.
    void received(std::size_t bytes) noexcept
    {
        const bool is_full = bytes == offered_bytes_;
        const bool is_small = !is_full && bytes < bytes_ / 4;
        small_reads_ = static_cast<std::uint8_t>(is_small ? small_reads_ + 1 : 0);
        if (is_full) {
            bytes_ = std::min(bytes_ * 2, tuning::reading::max_read_bytes);
        } else if (small_reads_ == tuning::reading::small_reads_to_halve) {
            bytes_ = std::max(bytes_ / 2, first_bytes());
            small_reads_ = 0;
        }
    }
    /// Begins again with the smallest size.
    void restart() noexcept
    {
        bytes_ = first_bytes();
        small_reads_ = 0;
    }

private:
    static std::size_t first_bytes() noexcept
    {
        return base::rule_is_on(base::rule::small_reads) ? tuning::reading::min_read_bytes
                                                         : tuning::reading::max_read_bytes;
    }

    std::size_t bytes_ = first_bytes();
    std::size_t offered_bytes_ = 0;
    std::uint8_t small_reads_ = 0; ///< in a row
};

} // namespace zlink::engine
