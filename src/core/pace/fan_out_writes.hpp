// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "core/pace/cadence.hpp"

#include <cstddef>
#include <optional>

namespace zlink::core {

/// What the connections of a socket have in common when they are written to: how many they are, and
/// of a socket that sends each message to several of them how far that is. See docs/decisions 0012.
/// Thread safety: the socket's thread only.
class fan_out_writes {
public:
    /// The connections of the socket.
    std::size_t connections = 0;
    /// Does the socket send each message to many peers?
    bool sends_to_many = false;

    /// Until end_message(), one message is committed to so many connections. `now()` tells the
    /// time, if it is asked.
    template <class Now>
    void begin_message(std::size_t to_connections, Now now) noexcept
    {
        message_ = to_connections > tuning::batching::max_connections_per_thread ? extent::many
                                                                                 : extent::few;
        decided_.reset();
        if (message_ == extent::few)
            return;
        const bool were_busy = 2 * wakes_ < message_connections_;
        if (now() - message_end_ >=
            (were_busy ? tuning::batching::pause_of_stream : tuning::batching::quick_succession))
            turns_left_ = tuning::batching::max_connections_per_thread;
        message_connections_ = to_connections;
        wakes_ = 0;
    }
    template <class Now>
    void end_message(Now now) noexcept
    {
        if (message_ == extent::many)
            message_end_ = now();
        message_ = extent::one;
    }
    /// The sending thread has waited for room: it would have gone on otherwise, that was no pause.
    void waited_for_room(cadence_time now) noexcept { message_end_ = now; }

    /// Does the message go to more connections than the sending thread writes to?
    bool is_to_many() const noexcept { return message_ == extent::many; }
    /// Does it go to several, but not to so many?
    bool is_to_few() const noexcept { return message_ == extent::few; }
    /// Of such a message: does that thread write to the next connection that is idle? To the first
    /// few after a pause. While messages follow each other quickly, and to all other connections,
    /// the I/O threads write: to each of them all that has come since the last time.
    bool takes_turn() noexcept
    {
        ++wakes_;
        if (turns_left_ == 0 || !base::rule_is_on(base::rule::direct_fan_out))
            return false;
        --turns_left_;
        return true;
    }
    /// The cadence of the message: what `ask()` says of its first connection holds for all of them,
    /// however long it takes to write to them.
    template <class Ask>
    cadence of_message(Ask ask) noexcept
    {
        if (message_ == extent::one)
            return ask();
        if (!decided_)
            decided_ = ask();
        return *decided_;
    }

private:
    enum class extent : unsigned char { one, few, many };

    extent message_ = extent::one;
    std::optional<cadence> decided_; ///< of a message to few
    // Of messages to many. If the last one has found most connections busy, it takes longer until
    // the next counts as the first after a pause.
    std::size_t turns_left_ = tuning::batching::max_connections_per_thread;
    std::size_t message_connections_ = 0;
    std::size_t wakes_ = 0;
    cadence_time message_end_{};
};

} // namespace zlink::core
