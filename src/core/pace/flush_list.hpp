// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.hpp"
#include "base/rules.hpp"
#include "base/tuning.hpp"
#include "core/pace/cadence.hpp"
#include "runtime/guard_timer.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace zlink::core {

/// A connection whose sending thread is the batcher (see writer_is): it coalesces what it commits,
/// and somebody has to flush that in time. Thread safety: any thread.
class batched_connection {
public:
    virtual ~batched_connection() = default;
    /// Writes what has been committed; the batches go on. False if they have ended.
    virtual bool write_batch() noexcept = 0;
    /// Ends the batches; false if they had ended. A heavy fence and write_last() or
    /// leave_to_io_thread() have to follow: the sending thread may commit until it has seen this.
    virtual bool stop_batches() noexcept = 0;
    /// Writes what was committed before the end of the batches.
    virtual void write_last() noexcept = 0;
    /// Has the I/O thread of the connection do that.
    virtual void leave_to_io_thread() noexcept = 0;
    /// Has the I/O thread write what is there, unless somebody is just writing, and end the batches
    /// if that is little. False if they have ended. Does not wait.
    virtual bool request_write() noexcept = 0;
    /// How many messages have been committed so far.
    virtual std::uint64_t committed_messages() const noexcept = 0;
};

/// What one thread has still to flush, through whatever sockets: batches for connections, and
/// wake-ups of readers in this process; and the cadence in which it sends. All of it is flushed at
/// three points: before the thread waits, after a receive that found nothing, and when it is due,
/// that is when the oldest may be older than `tuning::batching::max_delay`. If the thread stays
/// away, a guard in an I/O thread has the batches written. See docs/decisions 0022.
///
/// Thread safety: the thread it belongs to, but for what is said of the guard. Connections may
/// belong to sockets that other threads use by now.
class flush_list final : public runtime::guarded, public std::enable_shared_from_this<flush_list> {
public:
    using clock = std::chrono::steady_clock;
    using time_point = cadence_time;

    /// Null if there is no memory for one.
    static flush_list* of_this_thread() noexcept;
    /// Flushes what this thread has left: it is going to wait, or has found nothing to receive. The
    /// answer to that may be what it waits for.
    static void flush_this_thread() noexcept;
    /// Flushes what is due.
    static void flush_due_of_this_thread() noexcept;
    /// See sending_cadence::expect_more().
    static void expect_more_of_this_thread() noexcept;

    flush_list() noexcept = default;
    flush_list(const flush_list&) = delete;
    flush_list& operator=(const flush_list&) = delete;

    // --- cadence

    /// See sending_cadence::next().
    cadence next_cadence(time_point now, std::size_t bytes = 0) noexcept
    {
        const cadence how = cadence_.next(now, goes_on(now), bytes);
        if (!cadence_.in_succession())
            is_wide_ = false;
        return how;
    }
    /// More input is queued: replies to it, or what is forwarded, will follow quickly.
    void expect_more() noexcept { cadence_.expect_more(); }
    /// A write has ended, or was left to be done later.
    void wrote(time_point now) noexcept { cadence_.wrote(now); }
    /// A message is left to the I/O thread of its connection.
    void handed_over(time_point now) noexcept
    {
        wrote(now);
        flushed_at(now);
    }
    /// Are there too many connections for one thread to write to?
    bool is_wide() const noexcept { return is_wide_; }

    // --- readers in this process

    /// A thread that moves messages in a loop, as a proxy does, holds back the wake-ups of readers
    /// while an object of this exists: each is woken once for all that the loop has for it, not for
    /// its first message. One at a time for each thread; a further one has no effect, nor has one
    /// for which there is no memory.
    class held_readers {
    public:
        held_readers() noexcept;
        ~held_readers();
        held_readers(const held_readers&) = delete;
        held_readers& operator=(const held_readers&) = delete;

    private:
        std::shared_ptr<flush_list> of_;
    };
    /// Holds back that there is something to read at `reader`, which has tell_held() and
    /// shared_from_this(); false if this thread has to tell it now.
    template <class Reader>
    static bool hold(Reader& reader) noexcept
    {
        flush_list* const own = find_of_this_thread();
        if (!own || !own->holds_readers_ || !base::rule_is_on(base::rule::held_wakeups))
            return false;
        own->hold(reader.shared_from_this(),
                  [](void* held) noexcept { static_cast<Reader*>(held)->tell_held(); });
        return true;
    }

    // --- batches

    /// The thread is the batcher of this connection from now on, which `io` belongs to. The batches
    /// may have ended already when this returns.
    void add(std::shared_ptr<batched_connection> connection, boost::asio::io_context& io,
             time_point now) noexcept;
    /// Does it batch for several connections? Then flush_if_due() is to be called now and then.
    bool has_several() const noexcept { return batches_.load(std::memory_order_relaxed) > 1; }
    /// Writes all batches, and tells all readers, if they are due.
    void flush_if_due(time_point now) noexcept;
    /// A full batch was written.
    void wrote_batch(time_point now) noexcept;
    /// Writes all batches and ends them, and tells all readers.
    void flush() noexcept;

    // guarded: has batches written that are due, or without a guard all of them by their I/O
    // threads
    bool look_after() noexcept override;
    void lose_guard() noexcept override;

    /// How often batches were written or handed over, and why. Counted with the mutex; any thread
    /// reads.
    struct flush_counters {
        base::counter due;
        base::counter ended;
        base::counter by_guard;
        base::counter handed_over;
    };
    const flush_counters& counters() const noexcept { return counters_; }

private:
    struct entry {
        std::shared_ptr<batched_connection> connection;
        std::uint64_t committed_before = 0; ///< messages, before the batch
    };

    time_point flushed_at() const noexcept
    {
        return time_point(clock::duration(flushed_at_.load(std::memory_order_relaxed)));
    }
    void flushed_at(time_point now) noexcept
    {
        flushed_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    bool is_due(time_point now) const noexcept
    {
        return now - flushed_at() >= tuning::batching::max_delay;
    }
    bool has_batches() const noexcept { return batches_.load(std::memory_order_relaxed) != 0; }
    // See sending_cadence::next().
    bool goes_on(time_point now) const noexcept
    {
        return is_wide_ ? now - flushed_at() < tuning::batching::pause_of_stream
                        : has_batches() && now - flushed_at() < 2 * tuning::batching::max_delay;
    }
    using tell_function = void (*)(void*) noexcept;
    struct held_reader {
        std::shared_ptr<void> object;
        tell_function tell;
    };
    static flush_list* find_of_this_thread() noexcept;
    void hold(std::shared_ptr<void> reader, tell_function tell) noexcept;
    void tell_readers() noexcept;
    void tell_readers_if_due(time_point now) noexcept;
    template <class Condition>
    void erase_if(Condition condition) noexcept;
    void clear() noexcept;
    std::uint64_t batched_messages() const noexcept;
    void write_all() noexcept;
    void hand_over() noexcept;
    bool stop_all() noexcept;
    void arm(boost::asio::io_context& io) noexcept;

    sending_cadence cadence_;
    bool is_wide_ = false;
    bool holds_readers_ = false; ///< there is a held_readers
    std::vector<held_reader> readers_;
    time_point first_reader_{}; ///< when the first of them was held back
    /// When the batches were written last, or the first of them was begun.
    std::atomic<clock::rep> flushed_at_{0};
    flush_counters counters_;
    std::mutex mutex_; ///< of what the guard looks at; it never waits for it
    std::vector<entry> entries_;
    std::atomic<std::size_t> batches_{0}; ///< entries_.size()
    bool guarded_ = false;                ///< there is a guard, or one is on its way
    unsigned idle_rounds_ = 0;            ///< of the guard, without a batch
};

} // namespace zlink::core
