// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/near_reader.hpp"
#include "base/queue/channel.hpp"
#include "base/tuning.hpp"
#include "core/pipe/body_route.hpp"
#include "core/pipe/frame.hpp"
#include "core/pipe/outlet.hpp"
#include "core/pipe/pipe_peer.hpp"
#include "engine/traffic/fan_out_log.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sys/uio.h>

namespace zlink::core {

/// The writing half of a pipe end: appends messages to a channel, and has them sent or read.
/// Thread safety: as pipe_end.
/// Lifetime: the channel, the reader and the outlet are the pipe end's, or outlive it.
class pipe_output {
public:
    /// `own_end` is told by on_writable() when there is room again.
    pipe_output(base::channel& channel, pipe_peer& own_end) noexcept
        : channel_(channel), own_end_(own_end)
    {}

    /// The other end, and the connection that carries the messages; null if there is none.
    void set_reader(pipe_peer* reader) noexcept { reader_ = reader; }
    void set_outlet(outlet* to) noexcept { outlet_ = to; }
    void set_inproc() noexcept { is_inproc_ = true; }
    /// Only the newest message is kept. Before the first message and set_limit().
    void set_conflation(bool conflates) noexcept { conflates_ = conflates; }
    /// Messages are chunks of bytes, of which an empty one is none. Without headers the boundaries
    /// between them are not kept. Before the first message.
    void write_chunks(bool with_headers) noexcept
    {
        is_chunks_ = true;
        is_plain_ = !with_headers;
    }
    /// How many messages may wait on this side; 0 = any number.
    void set_limit(int messages) noexcept
    {
        channel_.credit.set_producer_limit(conflates_ ? 0 : messages);
    }
    /// May a write wait until the reader has caught up, and lend to it? Only over inproc.
    /// `has_others`: the socket has other pipes, which wait meanwhile.
    void wait_for_reader(bool may_wait, bool has_others) noexcept
    {
        waits_for_reader_ = may_wait;
        has_others_ = has_others;
    }

    /// Nothing more is written.
    void close() noexcept { closed_ = true; }
    bool is_closed() const noexcept { return closed_; }

    /// May a new message be written? If not, a `writable` event will follow.
    bool can_write() noexcept
    {
        return has_room() || (!closed_ && channel_.credit.has_room_or_wait());
    }
    /// can_write() that asks for no event.
    bool has_room() noexcept
    {
        return !closed_ && (channel_.credit.has_room() || (may_flush() && flush_for_room()));
    }
    /// has_room() as far as this thread knows already.
    bool has_room_at_hand() const noexcept
    {
        return !closed_ && channel_.credit.has_room_at_hand();
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
    /// Appends a small part of a message for which there was room. False if there is something in
    /// its way, or memory is exhausted: nothing has happened.
    bool put_part(const std::byte* data, std::size_t size, bool more) noexcept
    {
        if (size >= tuning::body::min_shared_bytes)
            return false;
        if (writes_otherwise())
            return !conflates_ && !more && put_chunk(data, size);
        return try_to_write_small(data, size, more ? engine::zmtp3::flag_more : std::uint8_t{0});
    }
    /// has_room_at_hand() and put_part() in one, for a message of one part.
    bool put(const std::byte* data, std::size_t size) noexcept
    {
        return has_room_at_hand() && put_part(data, size, false);
    }
    /// Allocates what write_prepared() needs to write this message of one part next. Null if memory
    /// is exhausted.
    base::buffer_ref prepare(const frame& message) noexcept;
    /// Writes a message; needs no memory but `prepared`.
    void write_prepared(const frame& message, base::buffer_ref prepared) noexcept;
    /// Writes a whole message that lies in a log already.
    bool write_logged(const engine::fan_out_log::entry& message) noexcept
    {
        if (!channel_.queue.append_shared(message.chunk, message.at, message.bytes))
            return false;
        batch_bytes_ += message.bytes;
        return commit();
    }
    /// Takes back the parts of an unfinished message.
    void give_up_message() noexcept;
    /// Must each message be written on its own?
    bool replaces_messages() const noexcept { return conflates_; }
    /// Flushes before the thread blocks.
    void flush_before_sleep() noexcept
    {
        if (batches() && outlet_)
            follow(outlet_->flush(flush_reason::about_to_wait));
    }

    /// Messages that the reader has not taken. It takes some meanwhile.
    std::uint64_t unread_messages() const noexcept { return channel_.credit.waiting(); }
    bool has_unread() const noexcept
    {
        return channel_.credit.waiting() != 0 || channel_.newest.filled();
    }
    /// What the connection has done so far.
    traffic_counts counts() const noexcept
    {
        return outlet_ ? outlet_->counts() : traffic_counts{};
    }

private:
    bool writes_otherwise() const noexcept { return conflates_ | is_chunks_; }
    bool try_to_write_small(const std::byte* data, std::size_t size, std::uint8_t flags) noexcept
    {
        std::byte* const at = channel_.queue.reserve(engine::zmtp3::long_header_bytes + size);
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
        channel_.queue.advance(bytes);
        return end_appended_part(bytes, more);
    }
    bool end_appended_part(std::size_t bytes, bool more) noexcept
    {
        batch_bytes_ += bytes;
        in_message_ = more;
        return more || commit();
    }
    std::size_t encode_header(std::byte* at, const frame& part) const noexcept;

    bool write_any(const frame& part) noexcept;
    bool append(body_route route, const frame& part) noexcept;
    bool append_reference(std::size_t header_bytes, const frame& part) noexcept;
    body_facts facts_of(const frame& part) const noexcept;
    bool wants_to_lend(const frame& part) const noexcept;
    void make_way(const frame& part) noexcept;
    bool lend(const frame& part) noexcept;
    bool write_directly(const frame& part) noexcept;
    std::span<std::byte> message_so_far() noexcept;
    void append_rest(const iovec (&message)[2], std::size_t sent,
                     base::certain_memory& memory) noexcept;
    bool put_newest(base::buffer_ref copy) noexcept;
    // Who writes what was committed, and when.
    bool commit() noexcept
    {
        channel_.credit.add_sent(1);
        if (batches() ? channel_.queue.commit_as_owner(1) : channel_.queue.commit(1)) [[unlikely]]
            tell_readable();
        else if (batches() && batch_bytes_ >= plan_.flush_at_bytes) [[unlikely]]
            flush_or_check_age();
        return true;
    }
    void tell_readable() noexcept;
    void flush() noexcept;
    void flush_or_check_age() noexcept;
    bool batches() const noexcept { return plan_.who == writer_is::batcher; }
    bool may_flush() const noexcept { return batches() || plan_.who == writer_is::io_thread; }
    void follow(plan next) noexcept
    {
        batch_bytes_ = 0;
        plan_ = next;
        if (next.credit_freed)
            own_end_.on_writable();
    }
    bool flush_for_room() noexcept
    {
        flush();
        return channel_.credit.has_room();
    }

    base::channel& channel_;
    plan plan_;                   ///< who writes what is committed next
    std::size_t batch_bytes_ = 0; ///< committed since the last flush
    bool in_message_ = false;     ///< a part with flag_more was written last
    bool closed_ = false;
    bool conflates_ = false;
    bool is_chunks_ = false;
    bool is_plain_ = false; ///< without headers
    bool is_inproc_ = false;
    bool waits_for_reader_ = false;
    bool has_others_ = false; ///< the socket of this pipe
    outlet* outlet_ = nullptr;
    pipe_peer* reader_ = nullptr;
    pipe_peer& own_end_;
    base::near_reader near_reader_; ///< inproc
};

} // namespace zlink::core
