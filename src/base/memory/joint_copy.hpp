// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink::base {

/// A copy that two threads make together: one from the beginning, the other from the end, piece by
/// piece until they meet.
///
/// Thread safety: one thread calls from_front(), another from_back(). Neither knows when the other
/// is through.
class joint_copy {
public:
    joint_copy(const std::byte* from, std::byte* to, std::size_t bytes) noexcept
        : from_(from),
          to_(to),
          bytes_(bytes),
          pieces_((bytes + tuning::inproc::piece_bytes - 1) / tuning::inproc::piece_bytes)
    {}
    joint_copy(const joint_copy&) = delete;
    joint_copy& operator=(const joint_copy&) = delete;

    void from_front() noexcept
    {
        for (;;) {
            const std::uint64_t claimed = claimed_.fetch_add(1, std::memory_order_relaxed);
            if (front(claimed) + back(claimed) >= pieces_)
                return;
            copy(front(claimed));
        }
    }
    void from_back() noexcept
    {
        for (;;) {
            const std::uint64_t claimed =
                claimed_.fetch_add(one_of_back, std::memory_order_relaxed);
            if (front(claimed) + back(claimed) >= pieces_)
                return;
            copy(pieces_ - 1 - back(claimed));
        }
    }

private:
    static constexpr std::uint64_t one_of_back = std::uint64_t{1} << 32;

    static std::size_t front(std::uint64_t claimed) noexcept
    {
        return static_cast<std::uint32_t>(claimed);
    }
    static std::size_t back(std::uint64_t claimed) noexcept { return claimed >> 32; }
    void copy(std::size_t piece) noexcept
    {
        const std::size_t at = piece * tuning::inproc::piece_bytes;
        std::memcpy(to_ + at, from_ + at, std::min(tuning::inproc::piece_bytes, bytes_ - at));
    }

    const std::byte* const from_;
    std::byte* const to_;
    const std::size_t bytes_;
    const std::size_t pieces_; ///< so many make up the body; of 2^31 at most
    /// Pieces taken: in the lower half from the front, in the upper from the back.
    std::atomic<std::uint64_t> claimed_{0};
};

} // namespace zlink::base
