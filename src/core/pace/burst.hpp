// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.hpp"
#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "core/pace/burst_time.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace zlink::core {

/// A connection as a burst knows it: the sending thread has become the owner of its writing: it
/// writes what it commits (see writer), and batches it. Thread safety: any thread.
class batched_connection {
public:
    virtual ~batched_connection() = default;
    /// Writes what has been committed; the ownership lasts. False if it is over.
    virtual bool write_committed() noexcept = 0;
    /// Ends the ownership; false if it was over. A heavy fence and write_last() or
    /// leave_to_io_thread() have to follow: the sending thread may commit until it has seen this.
    virtual bool end_ownership() noexcept = 0;
    /// Writes what was committed before the end of the ownership.
    virtual void write_last() noexcept = 0;
    /// Has the I/O thread of the connection do that.
    virtual void leave_to_io_thread() noexcept = 0;
    /// Has the I/O thread write what is there, unless somebody is just writing, and end the
    /// ownership if that is little. False if it is over. Does not wait.
    virtual bool request_write_for_owner() noexcept = 0;
    /// How many messages have been committed so far.
    virtual std::uint64_t committed_messages() const noexcept = 0;
};

/// What one thread sends in quick succession, through whatever sockets and to whatever connections:
/// decides whether its messages follow each other closely enough for batches, and remembers the
/// connections whose batches it has still to write. It writes them before it waits, when it has
/// found nothing to receive, and when the oldest may be older than `tuning::batching::max_delay`;
/// if it stays away, a guard in an I/O thread has them written. See docs/decisions 0022.
///
/// Thread safety: the thread it belongs to, but for what is said of the guard. Connections may
/// belong to sockets that other threads use by now.
class burst final : public std::enable_shared_from_this<burst> {
public:
    using clock = burst_clock;
    using time_point = clock::time_point;

    /// Null if there is no memory for one.
    static burst* of_this_thread() noexcept;
    /// Writes what this thread has left: it is going to wait, or has found nothing to receive. The
    /// answer to that may be what it waits for.
    static void end_of_this_thread() noexcept;
    /// This thread is going to send more after what it sends next, see expect_more().
    static void expect_more_of_this_thread() noexcept;

    burst() noexcept = default;
    burst(const burst&) = delete;
    burst& operator=(const burst&) = delete;

    // --- succession

    /// The thread has met a message behind which there are more: if it answers each of them, or
    /// passes it on, what it sends is going to follow closely.
    void expect_more() noexcept { more_input_ = base::rule_is_on(base::rule::expect_more); }
    /// Does a message that has to be written at `now` follow others so closely that batches move
    /// more of them? Writing at once is best for a message now and then; batching begins after a
    /// few in quick succession, and earlier in a thread that has mostly sent several between its
    /// last waits. A request and its reply may look like that too, where one processor has run both
    /// ends; end() corrects it.
    bool follows_quickly(time_point now) noexcept
    {
        is_silent_ = false;
        quick_wakes_ = now - last_write_ < tuning::batching::quick_succession || goes_on(now)
                           ? quick_wakes_ + 1
                           : 0;
        if (quick_wakes_ == 0)
            is_wide_ = false;
        else
            ++quick_wakes_of_burst_;
        if (!base::rule_is_on(base::rule::batching))
            return false;
        if (base::rule_is_on(base::rule::early_batching) &&
            long_bursts_ >= tuning::batching::long_bursts_until_known)
            return quick_wakes_ != 0 || more_input_;
        return quick_wakes_ >= tuning::batching::quick_commits_until_batching;
    }
    /// A write has ended, or was left to be done later.
    void wrote(time_point now) noexcept { last_write_ = now; }
    /// A connection was woken, and is left to its I/O thread.
    void handed_over(time_point now) noexcept
    {
        wrote(now);
        looked_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    /// Are there too many connections for one thread to write to?
    bool is_wide() const noexcept { return is_wide_; }

    // --- batches

    /// The thread owns the writing of this connection from now on, which `io` belongs to. Its
    /// ownership may be over already when this returns.
    void add(std::shared_ptr<batched_connection> connection, boost::asio::io_context& io,
             time_point now) noexcept;
    /// Does it batch for several connections? Then look() is to be called now and then.
    bool has_several() const noexcept { return batches_.load(std::memory_order_relaxed) > 1; }
    /// Writes all batches if the oldest message in them may be older than
    /// `tuning::batching::max_delay`.
    void look(time_point now) noexcept;
    /// A full batch was written.
    void wrote_batch(time_point now) noexcept;
    /// Writes all batches and ends all ownerships.
    void end() noexcept;

    /// How often batches were written or handed over, and why. Counted with the mutex of the burst;
    /// any thread reads.
    struct flush_counters {
        base::counter due;
        base::counter ended;
        base::counter by_guard;
        base::counter handed_over;
    };
    const flush_counters& counters() const noexcept { return counters_; }

private:
    class guard;
    struct entry {
        std::shared_ptr<batched_connection> connection;
        std::uint64_t committed_before = 0; ///< messages, before the batch
    };

    time_point looked_at() const noexcept
    {
        return time_point(clock::duration(looked_at_.load(std::memory_order_relaxed)));
    }
    // Connections that are batched for, or busy, wake nobody: a wake-up now and then is all that is
    // seen of a stream to them.
    bool goes_on(time_point now) const noexcept
    {
        return is_wide_ ? now - looked_at() < tuning::batching::pause_of_stream
                        : batches_.load(std::memory_order_relaxed) != 0 &&
                              now - looked_at() < 2 * tuning::batching::max_delay;
    }
    template <class Condition>
    void erase_if(Condition condition) noexcept;
    void clear() noexcept;
    std::uint64_t batched_messages() const noexcept;
    void note_length(std::uint64_t batched) noexcept;
    void write_all() noexcept;
    void hand_over() noexcept;
    bool end_ownerships() noexcept;
    void arm(boost::asio::io_context& io) noexcept;

    time_point last_write_{};
    unsigned quick_wakes_ = 0; ///< in a row
    unsigned long_bursts_ = 0; ///< each between two waits, less the short ones since
    bool is_wide_ = false;
    // since the last wait:
    unsigned quick_wakes_of_burst_ = 0;
    bool is_silent_ = true;
    bool more_input_ = false; ///< see expect_more()

    /// When the batches were written last, or the first of them was begun.
    std::atomic<clock::rep> looked_at_{0};
    flush_counters counters_;
    std::mutex mutex_; ///< of what the guard looks at; it never waits for it
    std::vector<entry> entries_;
    std::atomic<std::size_t> batches_{0}; ///< entries_.size()
    bool guarded_ = false;                ///< there is a guard, or one is on its way
};

} // namespace zlink::core
