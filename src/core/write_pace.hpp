// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/burst.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace zlink::core {

/// What the connections of a socket have in common.
/// Thread safety: the socket's thread only.
struct shared_pace {
    std::size_t connections = 0;

    // Of a socket that sends each message to several of them:
    bool fans_out = false;
    /// So many connections are written to by the sending thread after a pause.
    static constexpr unsigned direct_writes = 16;
    std::chrono::steady_clock::time_point last_wake{};
    const void* last_woken = nullptr; ///< the connection
    unsigned in_a_row = 0;            ///< times it was the same one
    unsigned direct_left = direct_writes;

    // A message to more connections than that tells itself when it begins and ends. If the one
    // before has found most of them busy, it takes longer until it counts as the first after a
    // pause.
    bool in_message = false;
    std::size_t message_connections = 0;
    std::size_t message_wakes = 0;
    std::chrono::steady_clock::time_point message_end{};

    /// The sending thread has waited for room: it would have gone on otherwise, that was no pause.
    void waited_for_room(std::chrono::steady_clock::time_point now) noexcept
    {
        last_wake = message_end = now;
    }
    void begin_message(std::size_t to_connections,
                       std::chrono::steady_clock::time_point now) noexcept
    {
        const bool were_busy = 2 * message_wakes < message_connections;
        if (now - message_end >= (were_busy ? pause_of_stream : quick_wake))
            direct_left = direct_writes;
        in_message = true;
        message_connections = to_connections;
        message_wakes = 0;
    }
    void end_message(std::chrono::steady_clock::time_point now) noexcept
    {
        in_message = false;
        message_end = now;
    }

    /// A publisher that wakes the next connection within this time is quick.
    static constexpr std::chrono::nanoseconds quick_wake{3'000};
    /// One whose connections were busy with several messages each has paused if none was woken for
    /// so long.
    static constexpr std::chrono::nanoseconds pause_of_stream{500'000};
};

/// How what was committed for a connection is to be written, as the messages of the sending thread
/// follow each other (`thread`, see burst) and, if the socket sends each message to many, those for
/// its other connections: at once by the sending thread, by it in batches, or by the I/O thread.
/// See docs/decisions 0002, 0012 and 0022.
///
/// Only commits that find the consumer asleep are asked about. In the header because that is in the
/// path of each message.
///
/// Thread safety: the socket's thread only.
class write_pace {
public:
    using time_point = std::chrono::steady_clock::time_point;
    enum class way : std::uint8_t {
        at_once,
        in_batches, ///< messages follow each other quickly
        hand_over,  ///< there are many connections to write to, see io_thread::ask()
    };

    /// `shared` is not null.
    explicit write_pace(std::shared_ptr<shared_pace> shared) noexcept : shared_(std::move(shared))
    {}

    bool is_one_of_many() const noexcept { return shared_->fans_out; }
    /// Does nobody else wait if the sending thread waits for this connection?
    bool is_alone() const noexcept { return shared_->connections < 2; }

    /// A commit has woken the consumer at `now`; the `committed`th message was the last one.
    way choose(burst& thread, time_point now, std::uint64_t committed) noexcept
    {
        if (is_one_of_many())
            if (const auto chosen = choose_among_many(now, committed))
                return *chosen;
        if (!thread.follows_quickly(now))
            return way::at_once;
        return thread.is_wide() ? way::hand_over : way::in_batches;
    }
    /// Does a message that could be written past the queue at `now` follow others so closely that
    /// batches move more of them?
    bool wants_batches(burst& thread, time_point now) noexcept
    {
        return (is_alone() || !is_one_of_many()) && thread.follows_quickly(now);
    }
    /// What was to be written at once is.
    void wrote_at_once(time_point now) noexcept { shared_->last_wake = now; }

private:
    // A socket that could send to many connections and wakes one only so often in a row has only
    // that one to send to.
    static constexpr unsigned wakes_until_single = 16;

    // A message to many: after a pause the first few connections are written to at once. While
    // messages follow each other quickly, or if there are more connections than that, the I/O
    // threads write: to each of them all that has come since the last time. Nothing = there is only
    // this connection, it seems.
    std::optional<way> choose_among_many(time_point now, std::uint64_t committed) noexcept
    {
        shared_pace& pace = *shared_;
        const bool in_stream = committed - std::exchange(committed_at_wake_, committed) > 1;
        const auto gap = now - pace.last_wake;
        pace.in_a_row = std::exchange(pace.last_woken, this) == this ? pace.in_a_row + 1 : 0;
        if (pace.in_message)
            ++pace.message_wakes;
        else if (gap >= (in_stream ? shared_pace::pause_of_stream : shared_pace::quick_wake) ||
                 pace.in_a_row >= wakes_until_single)
            pace.direct_left = shared_pace::direct_writes;
        if (!pace.in_message && pace.direct_left == shared_pace::direct_writes &&
            pace.in_a_row != 0)
            return {};
        if (pace.direct_left == 0) {
            pace.last_wake = now;
            return way::hand_over;
        }
        --pace.direct_left;
        return way::at_once;
    }

    const std::shared_ptr<shared_pace> shared_;
    std::uint64_t committed_at_wake_ = 0; ///< messages
};

} // namespace zlink::core
