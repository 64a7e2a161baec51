// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "core/pace/burst.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace zlink::core {

/// What the connections of a socket have in common.
/// Thread safety: the socket's thread only.
struct fan_out_budget {
    using time_point = std::chrono::steady_clock::time_point;

    std::size_t connections = 0;

    // Of a socket that sends each message to several of them:
    bool fans_out = false;

    /// The message that is being committed goes to so many connections.
    enum class extent : std::uint8_t {
        unknown, ///< one, it seems
        few,     ///< what is decided for the first one that is woken holds for all of them
        many,    ///< more than the sending thread writes to
    };
    extent message = extent::unknown;

    // How a message to few follows the one before it:
    enum class succession : std::uint8_t { undecided, apart, quick };
    succession decided = succession::undecided;

    // A message to many tells when it begins and ends. If the one before has found most of them
    // busy, it takes longer until it counts as the first after a pause.
    std::size_t remaining_direct_writes = tuning::batching::max_connections_per_thread;
    std::size_t message_connections = 0;
    std::size_t message_wakes = 0;
    time_point message_end{};

    /// The sending thread has waited for room: it would have gone on otherwise, that was no pause.
    void waited_for_room(time_point now) noexcept { message_end = now; }
    void begin_message_to_few() noexcept
    {
        message = extent::few;
        decided = succession::undecided;
    }
    void begin_message_to_many(std::size_t to_connections, time_point now) noexcept
    {
        const bool were_busy = 2 * message_wakes < message_connections;
        if (now - message_end >=
            (were_busy ? tuning::batching::pause_of_stream : tuning::batching::quick_succession))
            remaining_direct_writes = tuning::batching::max_connections_per_thread;
        message = extent::many;
        message_connections = to_connections;
        message_wakes = 0;
    }
    void end_message_to_many(time_point now) noexcept { message_end = now; }
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
class write_policy {
public:
    using time_point = std::chrono::steady_clock::time_point;
    enum class way : std::uint8_t {
        at_once,
        in_batches, ///< messages follow each other quickly
        hand_over,  ///< there are many connections to write to, see io_thread::ask()
    };

    /// `shared` is not null.
    explicit write_policy(std::shared_ptr<fan_out_budget> shared) noexcept
        : shared_(std::move(shared))
    {}

    bool is_one_of_many() const noexcept { return shared_->fans_out; }
    /// Does nobody else wait if the sending thread waits for this connection?
    bool is_only_connection() const noexcept { return shared_->connections < 2; }

    /// A commit has woken the consumer at `now`.
    way choose(burst& thread, time_point now) noexcept
    {
        switch (shared_->message) {
        case fan_out_budget::extent::unknown:
            break;
        case fan_out_budget::extent::few:
            return choose_for_few(thread, now);
        case fan_out_budget::extent::many:
            return choose_for_many();
        }
        if (!thread.follows_quickly(now))
            return way::at_once;
        const way how = way_of_quick_message(thread);
        return how == way::in_batches && base::rule_is_on(base::rule::unbatched_trials) &&
                       goes_alone()
                   ? way::at_once
                   : how;
    }
    /// Any thread. A batch of so many messages has waited for as long as one may while the thread
    /// was busy. If nothing has joined the first one, those that come next do not wait.
    void batch_was_written(std::uint64_t messages) noexcept
    {
        unsigned length = trial_.load(std::memory_order_relaxed);
        length = messages > 1 ? tuning::batching::min_unbatched_messages
                              : std::min(length * 2, tuning::max_trial_interval);
        trial_.store(length, std::memory_order_relaxed);
        alone_.store(messages > 1 ? 0 : length, std::memory_order_relaxed);
    }
    /// Does a message that could be written past the queue at `now` follow others so closely that
    /// batches move more of them?
    bool wants_batches(burst& thread, time_point now) noexcept
    {
        return (is_only_connection() || !is_one_of_many()) && thread.follows_quickly(now);
    }

private:
    static way way_of_quick_message(const burst& thread) noexcept
    {
        return thread.is_wide() ? way::hand_over : way::in_batches;
    }

    // One message, however many connections it goes to and however long it takes to write to them.
    way choose_for_few(burst& thread, time_point now) noexcept
    {
        using succession = fan_out_budget::succession;
        if (shared_->decided == succession::undecided)
            shared_->decided = thread.follows_quickly(now) ? succession::quick : succession::apart;
        return shared_->decided == succession::quick ? way_of_quick_message(thread) : way::at_once;
    }

    // After a pause the first few connections are written to at once. While messages follow each
    // other quickly, and for all other connections, the I/O threads write: to each of them all that
    // has come since the last time.
    way choose_for_many() noexcept
    {
        ++shared_->message_wakes;
        if (shared_->remaining_direct_writes == 0 || !base::rule_is_on(base::rule::direct_fan_out))
            return way::hand_over;
        --shared_->remaining_direct_writes;
        return way::at_once;
    }

    // Is this one of the messages that had better not wait for others?
    bool goes_alone() noexcept
    {
        const unsigned left = alone_.load(std::memory_order_relaxed);
        if (left != 0)
            alone_.store(left - 1, std::memory_order_relaxed);
        return left != 0;
    }

    const std::shared_ptr<fan_out_budget> shared_;
    std::atomic<unsigned> trial_{tuning::batching::min_unbatched_messages};
    std::atomic<unsigned> alone_{0}; ///< messages that are still to be written at once
};

} // namespace zlink::core
