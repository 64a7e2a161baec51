// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zlink::core {

/// How messages follow each other: of a thread that sends, and of a socket that receives. Whether
/// to write or to batch, to spin or to sleep, and to ask for the reading of a connection follow
/// from this.
enum class cadence : std::uint8_t {
    sparse,   ///< now and then
    dialogue, ///< one or a few at a time, with waits for the other side between them
    stream,   ///< in quick succession, whether the other side answers or not
    bulk,     ///< the same with large bodies, each of which is worth a system call of its own
};
inline constexpr std::size_t cadences = 4;

using cadence_time = std::chrono::steady_clock::time_point;

/// The cadence of what one thread sends, through whatever sockets. See docs/decisions 0002, 0022.
/// Thread safety: one thread at a time.
class sending_cadence {
public:
    /// A body of `bytes` has to be written at `now`: to an idle connection, or past its queue.
    /// `goes_on`: the thread sends to connections that are batched for or busy. Commits to them are
    /// not announced, so that of a stream to them only one is seen now and then.
    ///
    /// Writing at once is best for a message now and then. A stream is three of them, each within
    /// tuning::batching::quick_succession of the write before it; earlier where the thread has
    /// mostly sent several between its last waits. A dialogue on one processor may look like that
    /// too; waits() corrects it.
    cadence next(cadence_time now, bool goes_on, std::size_t bytes = 0) noexcept
    {
        const bool is_first = std::exchange(is_silent_, false);
        quick_commits_ = goes_on || now - last_write_ < tuning::batching::quick_succession
                             ? quick_commits_ + 1
                             : 0;
        quick_commits_since_wait_ += quick_commits_ != 0;
        if (is_stream())
            return bytes < tuning::batching::min_unbatched_bytes ? cadence::stream : cadence::bulk;
        return is_first ? cadence::dialogue : cadence::sparse;
    }
    /// Did the last message follow the one before it quickly?
    bool in_succession() const noexcept { return quick_commits_ != 0; }
    /// A write has ended, or was left to be done later.
    void wrote(cadence_time now) noexcept { last_write_ = now; }
    /// More input is queued: replies to it, or what is forwarded, will follow quickly.
    void expect_more() noexcept { expects_more_ = base::rule_is_on(base::rule::expect_more); }
    /// The thread waits, or has found nothing to receive. `messages`: how many it has batched since
    /// the last time; SIZE_MAX = too many to be counted. Without having sent it has learned
    /// nothing.
    void waits(std::uint64_t messages) noexcept
    {
        quick_commits_ = 0;
        expects_more_ = false;
        if (std::exchange(is_silent_, true))
            return;
        const std::uint64_t quick = std::exchange(quick_commits_since_wait_, 0);
        if (std::max(quick + 1, messages) >= tuning::batching::messages_of_long_burst)
            long_bursts_ = std::min(long_bursts_ + 1, tuning::batching::max_long_bursts_counted);
        else if (long_bursts_ != 0)
            --long_bursts_;
    }

private:
    bool is_stream() const noexcept
    {
        if (!base::rule_is_on(base::rule::batching))
            return false;
        if (base::rule_is_on(base::rule::early_batching) &&
            long_bursts_ >= tuning::batching::long_bursts_until_known)
            return quick_commits_ != 0 || expects_more_;
        return quick_commits_ >= tuning::batching::quick_commits_until_batching;
    }

    cadence_time last_write_{};
    unsigned quick_commits_ = 0; ///< in a row
    unsigned long_bursts_ = 0;   ///< each between two waits, less the short ones since
    // since the last wait:
    unsigned quick_commits_since_wait_ = 0;
    bool is_silent_ = true;
    bool expects_more_ = false;
};

/// The cadence of what a socket's thread receives. See docs/decisions 0008, 0013.
/// Thread safety: one thread at a time.
class receiving_cadence {
public:
    /// A part was received.
    void received() noexcept { ++parts_; }
    /// All parts so far; the number starts anew after some billions.
    unsigned parts() const noexcept { return parts_; }
    /// The thread is going to wait at `now` for input.
    void waits(cadence_time now) noexcept
    {
        quick_waits_ = now - last_wait_ < tuning::direct_reading::quick_wait ? quick_waits_ + 1 : 0;
        last_wait_ = now;
    }
    /// The cadence of what was received since the last wait. `reads`: the thread reads connections
    /// by itself, each time all that is there.
    cadence now(bool reads) noexcept
    {
        const unsigned parts = parts_ - std::exchange(parts_before_, parts_);
        if (!reads && parts > tuning::spin::max_messages_in_dialogue)
            return cadence::stream;
        return quick_waits_ != 0 ? cadence::dialogue : cadence::sparse;
    }
    /// Has the thread waited so often in quick succession that it should ask for the reading of its
    /// connections? That is now and then, as it may not be granted.
    bool asks_to_read() const noexcept
    {
        return quick_waits_ % tuning::direct_reading::quick_waits_between_asking ==
               tuning::direct_reading::quick_waits_until_asking;
    }

private:
    unsigned parts_ = 0;
    unsigned parts_before_ = 0; ///< at the last wait
    unsigned quick_waits_ = 0;  ///< in a row
    cadence_time last_wait_{};
};

/// Does a thread that waits in this cadence do better to sleep at once? The other side does not
/// wait for it, and what it sends meanwhile is received together.
constexpr bool sleeps_at_once(cadence how) noexcept
{
    return how == cadence::stream || how == cadence::bulk;
}

/// Does a link that has carried this load since a guard came by last do better to go on in batches?
/// In messages, where tuning::batching::counted_message_bytes more bytes count as one.
constexpr bool goes_on_in_batches(std::uint64_t load) noexcept
{
    return !base::rule_is_on(base::rule::ownership_ends) ||
           load >= tuning::batching::min_messages_per_round;
}

} // namespace zlink::core
