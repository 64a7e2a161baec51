// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"
#include "core/pipe/frame.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace zlink::sockets {

/// How much of what its peers send may be read in a call that the application makes for another
/// purpose: a publisher reads subscriptions while it sends.
///
/// All that is read costs its sender less than the reader, so the time spent on it is bounded: to
/// about an eighth of the time between two looks at the mail, in equal shares for all pipes that
/// had more to read last time. What is left waits in the pipes, and keeps those who send too much
/// waiting as well.
///
/// Thread safety: one thread at a time.
class reading_share {
public:
    /// The socket looks at its mail.
    void begin_mail() noexcept
    {
        const auto now = std::chrono::steady_clock::now();
        const std::chrono::duration<double, std::micro> between = now - read_until_;
        double units = between.count();
        // Where reading takes longer than expected, it must not earn itself more of it.
        const std::chrono::duration<double, std::micro> spent = read_until_ - begun_;
        if (unfinished_ != 0 && spent.count() > 0)
            units = std::min(units, static_cast<double>(share_ * unfinished_) * between.count() /
                                        (8 * spent.count()));
        begun_ = read_until_ = now;
        const auto all = static_cast<std::size_t>(
            std::clamp(units, static_cast<double>(tuning::reading_share::min_units),
                       static_cast<double>(tuning::reading_share::max_units)));
        share_ = std::max<std::size_t>(all / std::max<std::size_t>(unfinished_, 1), 1);
        unfinished_ = 0;
    }
    /// What each pipe may use up of it: see cost_of().
    std::size_t of_a_pipe() const noexcept { return share_; }
    /// May a pipe that has so much left of its share go on? Not if the look has taken long already,
    /// whatever it was expected to cost: the machine may be slow, or busy with something else.
    bool allows(std::size_t remaining) noexcept
    {
        return remaining != 0 &&
               (++parts_ % tuning::reading_share::parts_between_clocks != 0 ||
                std::chrono::steady_clock::now() - begun_ < tuning::reading_share::max_time);
    }
    /// A pipe has used up its share, and more is there.
    void note_unfinished() noexcept
    {
        ++unfinished_;
        read_until_ = std::chrono::steady_clock::now();
    }

    /// In units of some 0.1 us.
    static std::size_t cost_of(const core::frame& part) noexcept
    {
        return 1 + part.size / tuning::reading_share::bytes_per_unit;
    }

private:
    std::chrono::steady_clock::time_point begun_{};      ///< the last look
    std::chrono::steady_clock::time_point read_until_{}; ///< in it, as far as is known
    std::size_t share_ = tuning::reading_share::max_units;
    std::size_t unfinished_ = 0; ///< pipes of this look
    unsigned parts_ = 0;
};

} // namespace zlink::sockets
