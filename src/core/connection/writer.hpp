// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.hpp"
#include "base/pace/write_retry.hpp"
#include "engine/traffic/outgoing.hpp"
#include "engine/traffic/sending_progress.hpp"
#include "transport/stream.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace zlink::core {

/// Writes what goes out through a channel (engine::outgoing) to a connection, in large batches.
/// Writers are the connection's I/O thread, the sending thread, and the guard of a burst in any I/O
/// thread.
///
/// Who may touch what: the stream, the consumer side of the channel and everything here belong to
/// the holder of `mutex_`. Who has to see to it that queued bytes are written is decided by the
/// sleep bit of the channel: while it is set nobody is at work, and the commit that clears it makes
/// the committing thread responsible: it writes, leaves that to the I/O thread, or becomes the
/// owner of the writing for a while, see begin_ownership().
///
/// Thread safety: as said with each function.
class writer {
public:
    enum class status : std::uint8_t {
        idle,     ///< all is written; the next commit will wake somebody
        written,  ///< all is written, but the caller stays responsible for what comes next
        blocked,  ///< the connection takes no more now: wait until it is writable, then drain()
        pending,  ///< there is more to write, but others shall have their turn: call drain() again
        failed,   ///< the connection is broken, see error(); nothing is written to it any more
        detached, ///< there is no connection (any more): whoever attaches the next one will drain
        being_retried, ///< by the sending thread, which asks for drain() if it gives up
    };
    /// What the sending thread does about a connection that takes no more.
    enum class stalls : std::uint8_t {
        wait,  ///< for about 1 ms at most, while the peer reads
        leave, ///< to the I/O thread
    };
    struct outcome {
        status state = status::idle;
        bool wake_producer = false; ///< the producer waits for room, and there is some now
        /// Of write_committed(): how many messages the thread has committed as the owner since it
        /// looked last.
        std::uint64_t messages = 0;
    };

    explicit writer(base::channel& from) noexcept : from_(from), out_(from)
    {
        from_.stalled.store(true, std::memory_order_relaxed);
    }

    /// I/O thread. Begins to write to `to`: the bytes `first` as they are, then what is queued,
    /// through the wire. `opening` goes ahead of that: frames of this side's own making, in the
    /// format of the queue. `packet_bytes`: see transport::stream_info.
    void attach(transport::stream& to, std::span<const std::byte> first, engine::wire how = {},
                std::span<const std::byte> opening = {}, std::size_t packet_bytes = 0);
    /// I/O thread. The connection has gone, see engine::outgoing::end(). True if the producer waits
    /// for room, and there is some.
    bool detach();
    /// I/O thread. Drops all that is queued; true if the producer waits for room.
    bool discard();
    /// I/O thread. Writes what is there; `being_retried` if the sending thread is waiting for the
    /// connection.
    outcome drain();
    /// I/O thread. A command to be written at the next message boundary. What would make more than
    /// engine::outgoing::most_control_bytes wait is left out: the peer asks for answers that it
    /// does not read.
    outcome send_command(const engine::traffic_command& command);
    /// I/O thread. Before detach(): tells the peer why the connection ends, if the wire has a frame
    /// for that, nothing is written in part and there is room.
    void say_farewell(engine::farewell why) noexcept;
    /// I/O thread. How many bytes of the connection the command takes.
    std::size_t bytes_on_wire(const engine::traffic_command& command);
    /// Sending thread, after a commit that woke the consumer. Writes at once if the connection
    /// allows it. If it owns the writing it stays so with status `written`, and not with any other.
    outcome drain_directly(stalls how = stalls::wait);
    /// Sending thread, before it commits a large message while the I/O thread sees to what is
    /// queued. Writes that by itself, so that the message need not queue up behind it.
    outcome relieve(stalls how);
    /// Sending thread. Becomes the owner of the writing: it writes what it commits from now on,
    /// with commit_as_owner(); false if that is not possible now. While it lasts, write_for_owner()
    /// has to be called again and again.
    bool begin_ownership();
    /// Sending thread. Writes what it has left, and ends its ownership if it has it.
    outcome drain_and_end_ownership(stalls how = stalls::wait);
    /// I/O thread. Writes what the sending thread has left, unless that is writing itself; `idle`
    /// if it has hardly sent anything since the last time, so that its next commit is announced
    /// again.
    outcome write_for_owner();
    /// Any thread, for what it has committed itself: the same, waiting for whoever is writing;
    /// `idle` as well if that is one message, as nothing has joined it. Calls `then` before
    /// detach() can go on, so that the connection's I/O context is still there.
    void write_committed(const std::function<void(outcome)>& then);
    /// Any thread. Ends the ownership of the sending thread; false if it was over. Before
    /// write_last() or drain() the caller has to call base::heavy_fence(), for any number of
    /// connections at once: what the sending thread has committed is visible after that.
    bool end_ownership();
    /// Any thread. Writes what was committed before the end of the ownership. Calls `then` as
    /// write_committed() does.
    void write_last(const std::function<void(outcome)>& then);
    /// Any thread. Calls `then` if there is a connection, before detach() can go on.
    void while_attached(const std::function<void()>& then);
    /// Any thread. The same if the sending thread owns the writing, but not while anybody is
    /// writing, which it never waits for. False if the ownership is over.
    bool unless_at_work(const std::function<void()>& then);
    /// Sending thread. Writes one message past the queue straight from the caller's memory: what
    /// comes before its last body, and that. The queue is idle or, with ownership, has little to
    /// write, which goes first in the same call. 0 bytes: not possible now. If not all was taken
    /// the caller appends the rest to the queue, as a continuation and with nothing uncommitted
    /// before it, and commits it.
    ///
    /// As the owner, the last few bytes of a message that would need one more packet are left to be
    /// that rest: they go with the next message. A wire that encodes takes all or nothing, and has
    /// what the connection does not take in `for_rest`, which is room for the last body.
    /// `in_stream`: this message follows others closely, so that an ownership is worth while for
    /// that.
    struct passed {
        std::size_t bytes = 0;         ///< of the two, counted together
        bool begins_ownership = false; ///< as after begin_ownership()
        bool wake_producer = false;    ///< see outcome
        bool unfinished = false;       ///< the I/O thread has to drain(): the stream holds bytes
    };
    passed write_through(const iovec (&message)[2], base::certain_memory& for_rest,
                         stalls how = stalls::wait, bool in_stream = false);
    /// Any thread. How many messages have been committed so far, about now.
    std::uint64_t committed_messages() const noexcept { return from_.credit.sent(); }
    /// What was written, by whom. Counted by the holder of the mutex; any thread reads.
    struct write_counters {
        base::counter direct;
        base::counter batches;
        base::counter by_io_thread;
        base::counter retries;
        base::counter bytes;
    };
    const write_counters& counters() const noexcept { return counters_; }
    /// I/O thread. How far the peer has got with what was written.
    engine::sending_progress::state progress();
    /// I/O thread. Do commands of send_command() wait for a message boundary, or for room?
    bool control_waits();
    /// I/O thread. Is everything written that was committed so far?
    bool drained();
    int error() const noexcept { return error_; }

private:
    passed write_encoded(const iovec (&message)[2], base::certain_memory& for_rest, stalls how);
    outcome drain_locked(int batches);
    outcome drain_pressing(int batches, stalls how);
    transport::io_result write(const iovec* entries, int count) noexcept;
    template <class Attempt>
    bool press_on(stalls how, Attempt attempt) noexcept;
    status flush() noexcept;
    std::uint64_t new_messages() noexcept;
    std::uint64_t new_load() noexcept;
    outcome write_committed_locked(bool ownership_goes_on);
    outcome drain_from_io_thread();
    void end_ownership_locked();
    std::size_t rest_for_next(std::size_t before, const iovec (&message)[2]) noexcept;

    base::channel& from_;
    std::mutex mutex_;
    write_counters counters_;
    base::counter* counts_as_ = &counters_.by_io_thread; ///< what is being written
    engine::outgoing out_;
    transport::stream* to_ = nullptr;
    std::uint64_t times_made_room_ = 0;
    base::write_retry stall_;
    int error_ = 0;
    int broken_ = 0;                    ///< errno of the first write to the connection that failed
    std::atomic<bool> pressing_{false}; ///< whoever holds the mutex is in press_on()
    bool blocked_ = false;
    bool full_ = false;         ///< the connection has not taken all it was offered last
    bool holds_ = false;        ///< the stream holds some of what it has taken: it is to be flushed
    bool owns_writing_ = false; ///< the sending thread writes what it commits
    std::size_t packet_bytes_ = 0;      ///< of the connection, see transport::stream_info
    std::uint64_t load_before_ = 0;     ///< at the last write_for_owner() or write_committed()
    std::uint64_t messages_before_ = 0; ///< at the last write_committed() or begin_ownership()
};

} // namespace zlink::core
