// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/channel.hpp"
#include "base/tuning.hpp"
#include "engine/wire/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/uio.h>
#include <utility>
#include <vector>

namespace zlink::engine {

/// The sending half of the traffic phase, sans I/O: gives the bytes of one connection after the
/// other, in order, and is told how many of them were taken. They come from three sources:
/// commands and other frames of this side's own, the queue of a channel (as it lies there, or
/// encoded by the wire), and the channel's conflation slot.
///
/// A message that a connection did not take completely is kept for the next one. What is dropped:
/// commands and opening bytes, and the exceptions that end() names.
///
/// Thread safety: one thread at a time; it is the consumer of the channel.
/// Lifetime: the channel must outlive the object; so must what a wire refers to, until end().
class outgoing {
public:
    explicit outgoing(base::channel& from) noexcept : from_(from) {}

    /// A connection begins: gives the bytes `first` as they are, then what is queued, through the
    /// wire. `opening` goes ahead of that: frames of this side's own making, in the format of the
    /// queue. Throws std::bad_alloc.
    void begin(std::span<const std::byte> first, wire how, std::span<const std::byte> opening);
    /// The connection has gone. The first message that it did not take as a whole is the first one
    /// of the next connection, unless its beginning was taken past the queue, see passed_by(): such
    /// a message is dropped. Of plain bytes, what was committed together with a byte that was taken
    /// is dropped.
    void end();
    /// Drops all that is queued.
    void discard();

    enum class offer_kind : std::uint8_t {
        bytes,
        nothing, ///< there are none
        pending, ///< there are some, but nothing may be begun now
        failed,  ///< see error()
    };
    struct offer {
        offer_kind kind = offer_kind::nothing;
        std::size_t count = 0; ///< filled entries
        std::size_t bytes = 0;
        bool begins = false; ///< more was begun for it: counts as one batch
    };
    /// The next bytes, which stay where they are until taken() or end(). `may_begin` false: only
    /// the rest of what was begun already.
    offer next(std::span<iovec, tuning::writing::max_pieces> entries, bool may_begin) noexcept;
    /// So many bytes of the last offer were taken, up to all; 0 if the connection took none.
    void taken(std::size_t bytes) noexcept;
    /// After offer_kind::failed: ENOMEM, or EPROTO if the cipher's key is used up.
    int error() const noexcept { return error_; }

    /// A command to go at the next message boundary; false if as much as most_control_bytes waits
    /// already. Throws std::bad_alloc.
    bool add_command(const traffic_command& command);
    static constexpr std::size_t most_control_bytes = 64 * 1024;
    /// What tells the peer why the connection ends; empty if the wire has nothing of the kind, or
    /// something is written in part. Throws std::bad_alloc.
    std::vector<std::byte> farewell(engine::farewell why) const;
    /// How many bytes of the connection a command takes.
    std::size_t bytes_on_wire(const traffic_command& command) const;
    /// Do commands wait for a message boundary, or to be taken?
    bool control_waits() const noexcept
    {
        return !control_.empty() || !staged_.empty() || control_in_batch_;
    }
    /// Is everything taken that was committed so far?
    bool all_taken() const noexcept;
    /// May the sending thread batch what follows quickly?
    bool batches() const noexcept { return !wire_ || wire_->batches; }
    /// There is nothing left: falls asleep; false if there is something by now.
    bool sleep() noexcept;
    /// Does the producer wait for room that has been made? Asked once.
    bool wakes_producer() noexcept { return std::exchange(wake_producer_, false); }
    /// All that was taken is reported to the producer; true if it waits for that.
    bool report() noexcept { return from_.credit.report(); }

    // A message may be taken past the queue, straight from the caller's memory, if what is queued
    // goes ahead of it in the same write.

    /// Can a message be taken past the queue now, but for what is queued?
    bool can_pass_by() const noexcept;
    /// Lists all that is queued and leaves two entries free; false if that is not possible.
    bool list_all(std::span<iovec, tuning::writing::max_pieces> entries,
                  base::byte_queue::batch& all) noexcept;
    /// What was listed is going to be written: its messages count as taken.
    void begin_listed(const base::byte_queue::batch& all) noexcept;
    /// Of `queued` bytes that were listed and a message of `message` bytes behind them, so many
    /// were taken, counted together. If the message was taken in part the rest has to be committed
    /// next, as a continuation.
    void passed_by(std::size_t queued, std::size_t message, std::size_t taken) noexcept;

    // Or it is encoded, straight from the caller's memory, as the next batch.

    /// Can a message be encoded now? Nothing must be queued.
    bool can_encode_past() const noexcept;
    /// Encodes one: its frames, in the format of a queue, up to the header of the last body, and
    /// that. next() offers it, without anything else. False if memory is exhausted.
    bool encode_past(std::span<const std::byte> frames, std::span<const std::byte> body) noexcept;
    /// Is something of it left?
    bool batch_waits() const noexcept { return batch_ && !batch_->empty(); }
    /// The caller's memory goes: the message counts as taken, and what is left of it is copied. If
    /// the connection is lost before that is written, the message is, too.
    void keep_past(base::certain_memory& room) noexcept;
    /// Nothing of it was written, or the connection has failed: as if it had not been encoded.
    void give_up_past() noexcept;

private:
    enum class source : std::uint8_t { none, staged, batch, newest, queue };

    bool passes_queue() const noexcept;
    bool passes_filter(std::uint64_t position) const noexcept;
    void count_passed_by() noexcept;
    bool is_at_boundary() const noexcept;
    offer one(source from, std::byte* at, std::size_t bytes, std::span<iovec> entries,
              bool begins) noexcept;
    offer offer_batch(std::span<iovec> entries, bool begins) noexcept;
    offer offer_newest(std::span<iovec> entries, bool begins) noexcept;
    offer offer_encoded(std::span<iovec> entries, bool may_begin) noexcept;
    offer offer_queue(std::span<iovec> entries, bool may_begin) noexcept;
    bool is_inside_message() const noexcept;
    bool encode_run(base::byte_queue::lookahead& ahead);
    bool encode_message(base::byte_queue::lookahead& ahead, frame_encoder& to);
    void encode_newest(frame_encoder& to);
    void encode_control(frame_encoder& to);
    void put_back_newest() noexcept;
    bool encode_batch() noexcept;
    void let_go_of_written() noexcept;
    void drop_void_rest();
    void count_taken(std::uint64_t position, std::uint64_t messages = 1) noexcept;
    void return_to_message_start() noexcept;

    base::channel& from_;
    int error_ = 0;
    source offered_ = source::none; ///< where the last offer came from
    /// A frame was taken in part past the queue: the rest of it comes first in the queue.
    bool rest_expected_ = false;
    bool rest_is_void_ = false;        ///< and the connection it belonged to is gone
    bool encodes_queue_format_ = true; ///< what the wire says to that
    bool control_in_batch_ = false;    ///< the batch has frames that were in control_
    bool wake_producer_ = false;       ///< it waits for room, and there is some now
    std::uint64_t counted_until_ = 0;  ///< messages up to this position count as taken
    std::uint64_t passed_by_ = 0;      ///< messages that were taken past the queue
    std::vector<std::byte> staged_;    ///< bytes that go before the next ones of the channel
    std::size_t staged_sent_ = 0;
    base::buffer_ref newest_; ///< the message from the channel's slot that is being sent
    std::size_t newest_sent_ = 0;
    std::vector<std::byte> control_; ///< frames of this side's own making, in the queue's format
    std::unique_ptr<wire> wire_;     ///< null: that of most connections, which changes nothing
    std::unique_ptr<write_batch> batch_; ///< what comes next, encoded
};

} // namespace zlink::engine
