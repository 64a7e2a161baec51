// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace zlink::engine {

/// Tells from the way out of a connection whether the peer lives, while a PING is not answered: a
/// PING behind much else on a slow connection comes late, and so does the answer.
///
/// A sign of life is
/// - that a connection that was full has taken something since the last look, and
/// - that bytes have been acknowledged which were ahead of the PING, or which the peer's side was
///   behind with at the last look.
/// Bytes that are acknowledged at once are none: the kernel of a peer that hangs does that for as
/// long as it has room.
///
/// Thread safety: none of its own.
class sending_progress {
public:
    /// Of a connection, at one moment.
    struct state {
        std::int64_t written_bytes = 0;
        /// Those that the kernel no longer holds for the peer; counted from anywhere, so that only
        /// differences mean something.
        std::int64_t acknowledged_bytes = 0;
        std::uint64_t times_made_room = 0; ///< after being full
        bool control_waits = false;        ///< commands are not written yet, a PING perhaps
    };

    /// A PING of so many bytes was sent, or waits to be; no earlier one is without an answer.
    void ping_sent(const state& now, std::size_t ping_bytes) noexcept
    {
        last_ = now;
        behind_until_ = now.control_waits
                            ? not_written_yet
                            : now.written_bytes - static_cast<std::int64_t>(ping_bytes);
    }

    /// Has there been a sign of life since the last call, or since the PING?
    bool look(const state& now) noexcept
    {
        const state before = std::exchange(last_, now);
        const bool was_behind = before.acknowledged_bytes < behind_until_;
        if (behind_until_ == not_written_yet ? !now.control_waits
                                             : now.acknowledged_bytes < behind_until_)
            behind_until_ = now.written_bytes;
        return now.times_made_room != before.times_made_room ||
               (was_behind && now.acknowledged_bytes > before.acknowledged_bytes);
    }

private:
    static constexpr std::int64_t not_written_yet = std::numeric_limits<std::int64_t>::max();

    state last_;
    /// The position in the stream up to which acknowledged bytes are a sign of life.
    std::int64_t behind_until_ = 0;
};

} // namespace zlink::engine
