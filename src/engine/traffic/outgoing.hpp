// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/channel.hpp"
#include "base/tuning.hpp"
#include "engine/traffic/encoded_source.hpp"
#include "engine/traffic/newest_source.hpp"
#include "engine/traffic/own_frames.hpp"
#include "engine/traffic/queue_source.hpp"
#include "engine/wire/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace zlink::engine {

/// The sending half of the traffic phase, sans I/O: gives the bytes of one connection after the
/// other, in order, and is told how many of them were taken. They come from four sources: frames
/// of this side's own, batches that the wire has encoded, the channel's conflation slot, and its
/// queue. What has begun is finished first; nothing else is begun inside a message.
///
/// A message that a connection did not take completely is kept for the next one. What is dropped:
/// commands and opening bytes, and the exceptions that end() names.
///
/// Thread safety: one thread at a time; it is the consumer of the channel.
/// Lifetime: the channel must outlive the object; so must what a wire refers to, until end().
class outgoing {
public:
    explicit outgoing(base::channel& from) noexcept
        : from_(from), newest_(from.newest), queue_(from)
    {}
    outgoing(const outgoing&) = delete;
    outgoing& operator=(const outgoing&) = delete;

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
    void taken(std::size_t bytes) noexcept
    {
        if (offered_)
            offered_->taken(bytes);
    }
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
        return own_.wait() || !own_.at_boundary() || (encoded_ && encoded_->has_own_frames());
    }
    /// Is everything taken that was committed so far?
    bool all_taken() const noexcept;
    /// May the sending thread batch what follows quickly?
    bool batches() const noexcept { return !encoded_ || encoded_->how().batches; }
    /// There is nothing left: falls asleep; false if there is something by now.
    bool sleep() noexcept;
    /// Does the producer wait for room that has been made? Asked once.
    bool wakes_producer() noexcept { return queue_.wakes_producer(); }
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
    void begin_listed(const base::byte_queue::batch& all) noexcept { queue_.count_listed(all); }
    /// Of `queued` bytes that were listed and a message of `message` bytes behind them, so many
    /// were taken, counted together. If the message was taken in part the rest has to be committed
    /// next, as a continuation.
    void passed_by(std::size_t queued, std::size_t message, std::size_t taken) noexcept
    {
        queue_.passed_by(queued, message, taken);
    }

    // Or it is encoded, straight from the caller's memory, as the next batch.

    /// Can a message be encoded now? Nothing must be queued.
    bool can_encode_past() const noexcept;
    /// Encodes one: its frames, in the format of a queue, up to the header of the last body, and
    /// that. next() offers it, without anything else. False if memory is exhausted.
    bool encode_past(std::span<const std::byte> frames, std::span<const std::byte> body) noexcept;
    /// Is something of it left?
    bool batch_waits() const noexcept { return encoded_ && !encoded_->at_boundary(); }
    /// The caller's memory goes: the message counts as taken, and what is left of it is copied. If
    /// the connection is lost before that is written, the message is, too.
    void keep_past(base::certain_memory& room) noexcept;
    /// Nothing of it was written, or the connection has failed: as if it had not been encoded.
    void give_up_past() noexcept { encoded_->give_up_past(); }

private:
    bool passes_queue() const noexcept;
    bool is_at_boundary() const noexcept
    {
        return own_.at_boundary() && !batch_waits() && newest_.at_boundary();
    }
    frame_source* begun() noexcept;
    offer list(frame_source& from, std::span<iovec> entries, bool begins) noexcept;
    offer begin_queue(std::span<iovec> entries, bool may_begin) noexcept;
    offer begin_encoded(std::span<iovec> entries, bool may_begin) noexcept;

    base::channel& from_;
    // in the order in which they go when something of them has begun
    own_frames own_;
    std::unique_ptr<encoded_source> encoded_; ///< null: the wire of most connections, which
                                              ///< changes nothing
    newest_source newest_;
    queue_source queue_;
    frame_source* offered_ = nullptr; ///< the last offer was from there
    int error_ = 0;
    bool encodes_queue_format_ = true; ///< what the wire says to that
};

} // namespace zlink::engine
