// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/counter.hpp"
#include "base/pace/write_retry.hpp"
#include "base/queue/channel.hpp"
#include "core/pace/write_plan.hpp"
#include "engine/traffic/outgoing.hpp"
#include "engine/traffic/sending_progress.hpp"
#include "transport/stream.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace zlink::core {

/// Writes what goes out through a channel (engine::outgoing) to a connection, in large batches.
/// Writers are the connection's I/O thread, the sending thread, and the guard of a flush list in
/// any I/O thread.
///
/// Who may touch what: the stream, the consumer side of the channel and everything here belong to
/// the holder of `mutex_`. `who_` says who sees to it that queued bytes are written. While it is
/// `nobody` the sleep bit of the channel is set, and the commit that clears it makes the committing
/// thread responsible: it writes, leaves that to the I/O thread, or becomes the batcher.
///
/// Functions that write return who sees to the rest: `nobody` if all is written, `batcher` the same
/// while the sending thread coalesces, `io_thread` if there is more (or an error(), after which
/// nothing is written any more), `blocked` until the connection is writable: then drain().
/// `committer`, only to the I/O thread: the sending thread is writing, and asks for drain() if it
/// leaves anything.
///
/// Thread safety: as said with each function.
class writer {
public:
    /// What the sending thread does about a connection that takes no more.
    enum class stalls : std::uint8_t {
        wait,  ///< retries for about 1 ms at most, while the peer reads
        share, ///< the same, as far as its other connections can wait: see base::wait_budget
        leave, ///< leaves it to the I/O thread
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
    /// I/O thread. Writes what is there, unless the sending thread is writing.
    plan drain();
    /// I/O thread. A command to be written at the next message boundary. What would make more than
    /// engine::outgoing::most_control_bytes wait is left out: the peer asks for answers that it
    /// does not read.
    plan send_command(const engine::traffic_command& command);
    /// I/O thread. Before detach(): tells the peer why the connection ends, if the wire has a frame
    /// for that, nothing is written in part and there is room.
    void say_farewell(engine::farewell why) noexcept;
    /// I/O thread. How many bytes of the connection the command takes.
    std::size_t bytes_on_wire(const engine::traffic_command& command);
    /// Sending thread, after a commit that found `nobody`, or as the batcher: writes what is
    /// queued. The batcher stays it only if that is what the plan says.
    plan write_queued(stalls how = stalls::wait);
    /// Sending thread, before it commits a large message while the I/O thread sees to what is
    /// queued: writes that, so that the message need not wait behind it. Nothing if it did not try.
    std::optional<plan> write_backlog(stalls how);
    /// Sending thread, after a commit that found `nobody`. Becomes the batcher, until a function
    /// says otherwise; false if that is not possible now. While it lasts, write_for_batcher() has
    /// to be called again and again.
    bool begin_batches();
    /// Sending thread. Writes what it has left as the batcher, and ends being it.
    plan end_batches(stalls how = stalls::wait);
    /// I/O thread. Writes what the batcher has left, unless that is writing itself. `nobody` if it
    /// has hardly sent anything since the last time: its next commit is announced again.
    plan write_for_batcher();
    /// Any thread, for what it has committed itself: the same, but waits for the mutex, and calls
    /// `then(plan, messages)`, with the messages committed since the last time, before detach() can
    /// go on: the I/O context of the connection is still there. Ends the batches as well after a
    /// single message, as nothing has joined it.
    void write_batch(const std::function<void(plan, std::uint64_t)>& then);
    /// Any thread. Ends the batches of the sending thread; false if there are none. Before
    /// write_last() or drain() the caller has to call base::heavy_fence(), for any number of
    /// connections at once: what the sending thread has committed is visible after that.
    bool stop_batches();
    /// Any thread. Writes what was committed before stop_batches(). Calls `then` as write_batch()
    /// does.
    void write_last(const std::function<void(plan)>& then);
    /// Any thread. Calls `then` if there is a connection, before detach() can go on.
    void while_attached(const std::function<void()>& then);
    /// Any thread. The same if the sending thread is the batcher, but not while anybody is writing,
    /// which it never waits for. False if it is not the batcher any more.
    bool unless_at_work(const std::function<void()>& then);
    /// Sending thread. Writes one message (what precedes its last body, and that body) straight
    /// from the caller's memory. The queue has to be empty or, of the batcher, short: it goes first
    /// in the same call. 0 bytes: not possible now, and nothing has changed. If not all was taken,
    /// the caller appends the rest to the queue, as a continuation and with nothing uncommitted
    /// before it, and commits it.
    ///
    /// Of the batcher, and of a thread that sends in a stream (`in_stream`) and becomes it, a tail
    /// that would start one more packet is held back and goes with the next message. A wire that
    /// encodes takes all or nothing, and has what the connection does not take in `for_rest`, which
    /// is room for the last body. `io_thread`: the caller asks it to drain().
    struct direct_write {
        std::size_t bytes = 0;       ///< of the two pieces together
        plan next;                   ///< who sees to what comes next
        bool begins_batches = false; ///< as begin_batches() does
    };
    direct_write write_through(const iovec (&message)[2], base::certain_memory& for_rest,
                               stalls how = stalls::wait, bool in_stream = false);
    /// Any thread: who sees to what is queued, about now.
    writer_is who() const noexcept { return who_.load(std::memory_order_relaxed); }
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
    /// Any thread: errno of the connection or its wire, once something has failed.
    int error() const noexcept { return error_.load(std::memory_order_relaxed); }

private:
    bool takes_direct_writes() const noexcept
    {
        return to_ && who() != writer_is::blocked && broken_ == 0;
    }
    bool is_batched() const noexcept { return who() == writer_is::batcher; }
    void set_who(writer_is who) noexcept { who_.store(who, std::memory_order_relaxed); }
    direct_write write_encoded(const iovec (&message)[2], base::certain_memory& for_rest,
                               stalls how);
    plan plan_after_direct_write(bool batches, bool unfinished) noexcept;
    plan write_on_behalf(bool batches_go_on);
    plan write_and_retry(int batches, bool stays_batcher, stalls how);
    plan write_offers(int batches, bool stays_batcher);
    bool write_again(plan& result, int batches, bool stays_batcher);
    template <class Attempt>
    bool retry(stalls how, Attempt attempt) noexcept;
    std::size_t write_pieces(std::span<iovec> pieces, stalls how) noexcept;
    transport::io_result write(const iovec* entries, int count) noexcept;
    writer_is flush() noexcept;
    writer_is fail(int error) noexcept;
    std::uint64_t new_messages() noexcept;
    std::uint64_t new_load() noexcept;
    std::size_t tail_to_hold(std::size_t before, const iovec (&message)[2]) const noexcept;

    base::channel& from_;
    std::mutex mutex_;
    std::atomic<writer_is> who_{writer_is::nobody}; ///< set with the mutex
    write_counters counters_;
    base::counter* counts_as_ = &counters_.by_io_thread; ///< what is being written
    engine::outgoing out_;
    transport::stream* to_ = nullptr;
    std::uint64_t times_made_room_ = 0;
    base::write_retry stall_;
    std::atomic<int> error_{0};
    int broken_ = 0;     ///< errno of the first write to the connection that failed
    bool full_ = false;  ///< the connection has not taken all it was offered last
    bool holds_ = false; ///< the stream holds some of what it has taken: it is to be flushed
    std::size_t packet_bytes_ = 0;      ///< of the connection, see transport::stream_info
    std::uint64_t load_before_ = 0;     ///< at the last write_for_batcher() or write_batch()
    std::uint64_t messages_before_ = 0; ///< at the last write_batch() or begin_batches()
};

} // namespace zlink::core
