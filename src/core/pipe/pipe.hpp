// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/reader_back_off.hpp"
#include "base/pace/write_retry.hpp"
#include "base/queue/channel.hpp"
#include "base/queue/line_allocator.hpp"
#include "base/tuning.hpp"
#include "base/wait/mailbox.hpp"
#include "core/pipe/channel_pair.hpp"
#include "core/pipe/fan_out_log.hpp"
#include "core/pipe/frame.hpp"
#include "core/pipe/inlet.hpp"
#include "core/pipe/outlet.hpp"
#include "core/pipe/peer_info.hpp"
#include "core/pipe/pipe_peer.hpp"
#include "core/pipe/pipe_slot.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <sys/uio.h>
#include <utility>

namespace zlink::core {

/// A socket's end of a pipe: writes whole messages into one channel, reads them from the other.
/// Thread safety: the thread of the socket that has it. Any thread: notify(), set_peer() and
/// is_refused(); the other end calls the pipe_peer functions, in its thread. Until a socket has it,
/// whoever makes it uses it (inproc: under the lock of the registry).
class pipe_end final : public base::mail,
                       public pipe_peer,
                       public std::enable_shared_from_this<pipe_end> {
public:
    /// News for the owning socket, as mail event bits. Handled in this order.
    enum event : std::uint32_t {
        attached = 1,   ///< a new pipe for the socket
        identified = 2, ///< take_peer() has what the peer announced
        readable = 4,
        writable = 8,
        closed = 16,  ///< the other end is gone; what it sent can still be read
        leased = 32,  ///< this end may read by itself, see inlet::read()
        leaving = 64, ///< the other end is going: a message that says so follows, and `closed`
    };

    /// `side_a`: this end writes a_to_b. `box` may be null until the socket is known (inproc).
    pipe_end(std::shared_ptr<channel_pair> channels, bool side_a,
             std::shared_ptr<base::mailbox> box);
    ~pipe_end() override;

    void set_mailbox(std::shared_ptr<base::mailbox> box) { box_ = std::move(box); }
    void set_other_end(std::shared_ptr<pipe_peer> other) { other_ = std::move(other); }
    /// A connection carries the messages; the owner of the channels owns both, or outlives this.
    void set_connection(outlet& out, inlet& in) noexcept
    {
        outlet_ = &out;
        inlet_ = &in;
    }
    /// Of which direction only the newest message is kept: what is written, what is read. Before
    /// the first message.
    void set_conflation(bool out, bool in) noexcept
    {
        out_conflates_ = out;
        in_conflates_ = in;
    }
    /// Over inproc only: the reader backs off when it has caught up, as another thread of the
    /// application writes.
    void let_reader_back_off() { reader_back_off_ = std::make_unique<base::reader_back_off>(); }
    /// What is written are plain bytes: messages without frame headers, whose borders nobody needs.
    /// Before the first message.
    void write_plain_bytes() noexcept { out_is_chunks_ = out_is_plain_ = true; }
    /// What is written are chunks of bytes, in frames: an empty one is none.
    void write_chunks() noexcept { out_is_chunks_ = true; }
    void set_limits(int out_messages, int in_messages) noexcept
    {
        out_->credit.set_producer_limit(out_conflates_ ? 0 : out_messages);
        in_->credit.set_consumer_limit(in_messages);
        if (origin.is_inproc)
            for (base::channel* const channel : {out_, in_})
                channel->queue.rotate_chunks(channel->credit.limit());
    }
    const std::shared_ptr<channel_pair>& channels() const noexcept { return channels_; }
    /// Tells the socket; false if the socket is gone.
    bool notify(std::uint32_t events) noexcept;
    /// The same: there is something to read.
    void tell_held() noexcept { notify(readable); }

    // --- what the handshake found; any thread
    void set_peer(peer_info info) { set_peer(std::make_unique<peer_info>(std::move(info))); }
    void set_peer(std::unique_ptr<peer_info> info) noexcept;
    /// What was set last; null if that was taken already.
    std::unique_ptr<peer_info> take_peer() noexcept;

    /// May a new message be written? If not, a `writable` event will follow.
    bool can_write() noexcept
    {
        return has_room() || (!other_closed_ && out_->credit.has_room_or_wait());
    }
    /// The same, without asking for an event.
    bool has_room() noexcept
    {
        return !other_closed_ && (out_->credit.has_room() || (may_flush() && flush_for_room()));
    }
    /// The same as far as it is known already.
    bool has_room_at_hand() const noexcept
    {
        return !other_closed_ && out_->credit.has_room_at_hand();
    }
    /// Appends one part; the last part (without flag_more) makes the message visible to the peer.
    /// False if memory is exhausted: nothing has happened, and the parts before are kept. The part
    /// may be written again, or the message taken back by give_up_message().
    bool write(const frame& part) noexcept
    {
        if (part.size < tuning::body::min_shared_bytes && !part.user_owned() && !writes_otherwise())
            [[likely]]
            return try_to_write_small(part.data, part.size, part.flags);
        return write_any(part);
    }
    /// can_write() and write() in one, for a small message of one part with nothing in its way.
    /// False if there may be, or memory is exhausted: nothing has happened.
    bool put(const std::byte* data, std::size_t size) noexcept
    {
        return has_room_at_hand() && put_last(data, size);
    }
    /// The same for any part, with `more` to follow or not, of a message for which there was room.
    bool put_part(const std::byte* data, std::size_t size, bool more) noexcept
    {
        if (size >= tuning::body::min_shared_bytes)
            return false;
        if (writes_otherwise())
            return !out_conflates_ && !more && put_chunk(data, size);
        return try_to_write_small(data, size, more ? engine::zmtp3::flag_more : std::uint8_t{0});
    }
    bool put_last(const std::byte* data, std::size_t size) noexcept
    {
        return put_part(data, size, false);
    }
    /// Makes sure that this message of one part can be written next: what write_prepared() takes.
    /// Null if memory is exhausted.
    base::buffer_ref prepare(const frame& message) noexcept;
    /// Writes it; needs no memory.
    void write_prepared(const frame& message, base::buffer_ref prepared) noexcept;
    /// Writes a whole message that lies in a log already.
    bool write_logged(const fan_out_log::entry& message) noexcept
    {
        if (!out_->queue.append_shared(message.chunk, message.at, message.bytes))
            return false;
        batch_bytes_ += message.bytes;
        return commit();
    }
    /// Must each message be written on its own?
    bool replaces_messages() const noexcept { return out_conflates_; }
    /// Sees to it that what was written is on its way: the thread is going to sleep.
    void flush_before_sleep() noexcept
    {
        if (batches() && outlet_)
            follow(outlet_->flush(flush_reason::about_to_wait));
    }
    /// Takes back the parts of an unfinished message.
    void give_up_message() noexcept;

    /// The next part, if a whole message is there; if not, a `readable` event will follow. While
    /// the part is not popped the answer stays the same, unless the pipe conflates and a newer
    /// message has come.
    bool peek(frame& part) noexcept;
    /// peek() and pop() in one, for parts of `most` bytes at most that lie there in one piece: they
    /// stay valid until the next call for this pipe. Nothing if there is none, or one of another
    /// kind: peek() tells.
    taken_part take(std::size_t most) noexcept { return take_if(most, true); }
    /// The same for a part that ends a message; nothing if it is another one.
    taken_part take_last(std::size_t most) noexcept { return take_if(most, false); }
    /// Would take() give something, if it is short enough?
    bool can_take() const noexcept
    {
        return !reads_otherwise() && in_->queue.read_begin() != in_->queue.read_end();
    }
    /// Moves past the part peek() has given.
    void pop() noexcept;
    /// Drops the rest of a message of which a part was read.
    void skip_message() noexcept
    {
        std::size_t all = SIZE_MAX;
        skip_message(all);
    }
    /// The same for `most_parts` parts at most, and counts them down. False if that was not enough.
    bool skip_message(std::size_t& most_parts) noexcept;

    // --- reading the connection in the socket's thread, see inlet
    void ask_to_read() noexcept
    {
        if (inlet_)
            inlet_->ask_to_read();
    }
    inlet::leased_read read_connection(std::span<std::byte> memory = {}) noexcept
    {
        return inlet_ ? inlet_->read(memory) : inlet::leased_read{};
    }
    void take_memory_back() noexcept
    {
        if (inlet_)
            inlet_->withdraw_memory();
    }
    void stop_reading() noexcept
    {
        if (inlet_)
            inlet_->give_back();
    }

    /// Inproc, and no other pipe of the socket is there: a writer may wait for its reader.
    void wait_for_reader(bool may_wait) noexcept { waits_for_reader_ = may_wait; }

    /// Nothing more is to be written: the other end is gone, or is to go once all is read.
    void mark_other_closed() noexcept { other_closed_ = true; }
    /// The other end is gone (the event was handled): it need not be told of anything.
    void mark_other_gone() noexcept { other_closed_ = other_gone_ = true; }
    bool other_closed() const noexcept { return other_closed_; }
    /// The connection is going to be closed by who has made it: nothing more is written, and what
    /// has come is read until `closed`, see pipe_ending::left. False if the other end is gone
    /// already: nothing follows.
    bool leave() noexcept;
    /// Tells the other end that nothing more is written, before this end itself ends: `left` or
    /// `output_ended`.
    void end_output(pipe_ending how) noexcept
    {
        if (other_)
            other_->on_ended(how, 0);
    }
    /// Ends the peer's side, as close() does, but what it has sent can still be read.
    void hang_up(int linger_ms) noexcept;
    /// Gives this end up; returns whether it was not given up before.
    bool close(int linger_ms) noexcept;
    bool closed_here() const noexcept { return closed_; }
    /// Has the other end taken back what it has written, of which nothing was looked at here? See
    /// pipe_ending::refused. Any other end that is gone leaves what can still be read.
    bool is_taken_back() const noexcept
    {
        return taken_back_.load(std::memory_order_acquire) && !peeked_ &&
               in_->queue.read_position() == 0;
    }
    /// Whether the peer is not wanted now: then close() says so, see pipe_ending::refused.
    void set_refused(bool refused) noexcept { refused_.store(refused, std::memory_order_relaxed); }
    bool is_refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
    bool belongs_to(const pipe_peer& other) const noexcept { return other_.get() == &other; }

    /// Messages written that the other end has not taken; messages there to be read. As a look from
    /// the side: both move meanwhile.
    std::uint64_t outbound_messages() const noexcept { return out_->credit.waiting(); }
    std::uint64_t inbound_messages() const noexcept { return in_->credit.waiting(); }
    /// Messages that have come through this pipe, about now, and those of them that were read.
    std::uint64_t messages_come() const noexcept { return in_->credit.sent(); }
    std::uint64_t messages_read() const noexcept { return in_->credit.taken(); }
    /// What its connection has done so far.
    traffic_counts counts() const noexcept
    {
        return outlet_ ? outlet_->counts() : traffic_counts{};
    }
    /// Has the other end still to read what was written?
    bool has_unread_output() const noexcept
    {
        return out_->credit.waiting() != 0 || out_->newest.filled();
    }

    pipe_origin origin; ///< set by whoever makes the pipe
    pipe_slot slot;     ///< of the socket that has it, and of its pattern

    void on_readable() noexcept override;
    void on_writable() noexcept override { notify(writable); }
    void on_ended(pipe_ending how, int linger_ms) noexcept override;

private:
    static std::uint8_t part_flags(std::uint8_t header_flags) noexcept
    {
        return header_flags & (engine::zmtp3::flag_more | engine::zmtp3::flag_command);
    }
    bool writes_otherwise() const noexcept { return out_conflates_ | out_is_chunks_; }
    bool reads_otherwise() const noexcept { return in_conflates_ | part_apart_; }
    taken_part take_if(std::size_t most, bool with_more) noexcept
    {
        base::byte_queue& queue = in_->queue;
        const std::byte* const at = queue.read_begin();
        const auto available = static_cast<std::size_t>(queue.read_end() - at);
        engine::zmtp3::frame_header header;
        if (reads_otherwise() || !engine::zmtp3::decode_header(at, available, header) ||
            header.body_bytes > std::min(available - header.header_bytes, most))
            return {};
        const bool more = (header.flags & engine::zmtp3::flag_more) != 0;
        if (more && !with_more)
            return {};
        peeked_ = false;
        queue.consume(header.header_bytes + header.body_bytes);
        if (!more && in_->credit.add_taken(1)) [[unlikely]]
            tell_taken(true);
        return {at + header.header_bytes, header.body_bytes, more};
    }
    bool write_any(const frame& part) noexcept;
    bool try_to_write_small(const std::byte* data, std::size_t size, std::uint8_t flags) noexcept
    {
        std::byte* const at = out_->queue.reserve(engine::zmtp3::long_header_bytes + size);
        if (!at) [[unlikely]]
            return false;
        const std::size_t header_bytes = engine::zmtp3::encode_header(at, flags, size);
        if (size) // memcpy must not see null
            std::memcpy(at + header_bytes, data, size);
        return end_part(header_bytes + size, (flags & engine::zmtp3::flag_more) != 0);
    }
    bool put_chunk(const std::byte* data, std::size_t size) noexcept;
    // Ends a part of which `bytes` bytes were written at the reserved place.
    bool end_part(std::size_t bytes, bool more) noexcept
    {
        out_->queue.advance(bytes);
        batch_bytes_ += bytes;
        in_message_ = more;
        return more || commit();
    }
    std::size_t encode_header(std::byte* at, const frame& part) const noexcept;
    bool append_shared(std::size_t header_bytes, const frame& part) noexcept;
    bool keeps_waiting(const frame& part) const noexcept;
    void let_reader_catch_up(std::size_t bytes, bool lends) noexcept;
    bool lend(const frame& part) noexcept;
    bool try_write_through(const frame& part) noexcept;
    bool commit() noexcept
    {
        out_->credit.add_sent(1);
        if (batches() ? out_->queue.commit_as_owner(1) : out_->queue.commit(1)) [[unlikely]]
            tell_readable();
        else if (batches() && batch_bytes_ >= plan_.flush_at_bytes) [[unlikely]]
            flush_or_check_age();
        return true;
    }
    void tell_readable() noexcept;
    void flush() noexcept;
    void flush_or_check_age() noexcept;
    void write_disconnect_message() noexcept;
    bool batches() const noexcept { return plan_.who == writer_is::batcher; }
    bool may_flush() const noexcept { return batches() || plan_.who == writer_is::io_thread; }
    void follow(plan next) noexcept
    {
        batch_bytes_ = 0;
        plan_ = next;
        if (next.credit_freed)
            notify(writable);
    }
    bool flush_for_room() noexcept;
    bool has_more_messages() const noexcept;
    void give_part(frame& part) const noexcept;
    bool write_newest(const frame& part) noexcept;
    void put_newest(base::buffer_ref copy) noexcept;
    bool peek_newest(frame& part) noexcept;
    bool take_newest() noexcept;
    void tell_of_room() noexcept;
    void tell_taken(bool wake) noexcept
    {
        if (wake)
            tell_of_room();
    }

    const std::shared_ptr<channel_pair> channels_;
    base::channel* const out_;
    base::channel* const in_;
    std::shared_ptr<pipe_peer> other_;
    outlet* outlet_ = nullptr; ///< of the connection, if one carries the messages
    inlet* inlet_ = nullptr;
    std::shared_ptr<base::mailbox> box_;
    base::write_retry backlog_;
    /// Apart from the other: that the reader does not come for one body is no reason not to wait
    /// until it has caught up.
    base::write_retry borrower_{tuning::write_retry::max_stall_of_loan};
    bool reader_borrows_ = false; ///< it has taken what was lent to it last
    plan plan_;                   ///< who writes what is committed next
    std::size_t batch_bytes_ = 0; ///< committed since the last flush
    bool in_message_ = false;     ///< a part with flag_more was written last
    bool other_closed_ = false;
    bool other_gone_ = false;
    bool closed_ = false;
    bool waits_for_reader_ = false;
    std::atomic<bool> refused_{false};
    std::atomic<bool> taken_back_{false}; ///< by the other end
    shared_text disconnect_message_;      ///< the last message to the other end; empty = none
    bool marks_notices_ = false;          ///< see notice_frame()
    bool out_is_chunks_ = false;
    bool out_is_plain_ = false; ///< without heads
    bool out_conflates_ = false;
    bool in_conflates_ = false;

    // the part last peeked
    std::size_t part_header_bytes_ = 0;
    std::size_t part_bytes_ = 0;
    std::uint8_t part_flags_ = 0;
    bool part_apart_ = false; ///< its body has a buffer of its own; its header was consumed
    bool part_more_ = false;
    bool peeked_ = false;
    base::buffer_ref newest_; ///< what the part lies in, if it comes from the slot
    frame part_;              ///< then

    std::atomic<peer_info*> peer_{nullptr}; ///< until the socket has taken it

    std::unique_ptr<base::reader_back_off>
        reader_back_off_; ///< if the writer is a thread of the application
};

/// A pipe end as pipe_end() makes it, with its reference count at a fixed place relative to the
/// cache lines: the other end changes that with each post to the mailbox.
inline std::shared_ptr<pipe_end> make_pipe_end(std::shared_ptr<channel_pair> channels, bool side_a,
                                               std::shared_ptr<base::mailbox> box)
{
    return std::allocate_shared<pipe_end>(base::line_allocator<pipe_end>(), std::move(channels),
                                          side_a, std::move(box));
}

} // namespace zlink::core
