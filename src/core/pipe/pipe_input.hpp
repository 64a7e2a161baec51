// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/reader_back_off.hpp"
#include "base/queue/channel.hpp"
#include "core/pipe/frame.hpp"
#include "core/pipe/inlet.hpp"
#include "core/pipe/pipe_peer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace zlink::core {

/// The reading half of a pipe end: takes messages from a channel part by part.
/// Thread safety: as pipe_end.
/// Lifetime: the channel, the writer and the inlet are the pipe end's, or outlive it.
class pipe_input {
public:
    explicit pipe_input(base::channel& channel) noexcept : channel_(channel) {}

    /// The other end, and the connection that brings the messages; null if there is none.
    void set_writer(pipe_peer* writer) noexcept { writer_ = writer; }
    void set_inlet(inlet* from) noexcept { inlet_ = from; }
    /// For a thread that reads the connection by itself; null if there is none.
    inlet* connection() const noexcept { return inlet_; }
    inlet::leased_read read_connection(std::span<std::byte> memory = {}) noexcept
    {
        return inlet_ ? inlet_->read(memory) : inlet::leased_read{};
    }
    void stop_reading() noexcept
    {
        if (inlet_)
            inlet_->give_back();
    }
    /// The writer is a thread of the application: the reader backs off when it has caught up.
    void let_reader_back_off() { back_off_ = std::make_unique<base::reader_back_off>(); }
    void set_inproc() noexcept { is_inproc_ = true; }
    /// Only the newest message is kept. Before the first message.
    void set_conflation(bool conflates) noexcept { conflates_ = conflates; }
    /// How many messages may wait on this side; 0 = any number.
    void set_limit(int messages) noexcept { channel_.credit.set_consumer_limit(messages); }

    /// The next part, if a whole message is there; if not, a `readable` event will follow. While
    /// the part is not popped the answer stays the same, unless the pipe conflates and a newer
    /// message has come.
    bool peek(frame& part) noexcept;
    /// peek() and pop() in one, for a part of at most `max_bytes` bytes that lies there in one
    /// piece: it stays valid until the next call. Nothing if there is none, or one of another kind:
    /// peek() tells.
    taken_part take(std::size_t max_bytes) noexcept { return take_if(max_bytes, true); }
    /// take() of a part that ends a message; nothing if it is another one.
    taken_part take_last(std::size_t max_bytes) noexcept { return take_if(max_bytes, false); }
    /// Would take() give something, if it is short enough?
    bool can_take() const noexcept
    {
        return !reads_otherwise() && channel_.queue.read_begin() != channel_.queue.read_end();
    }
    /// Moves past the part peek() has given.
    void pop() noexcept;
    /// Drops the rest of a message of which a part was read: at most `max_parts` parts, which are
    /// counted down. False if that was not enough.
    bool skip_message(std::size_t& max_parts) noexcept;
    /// Was no part peeked or taken yet?
    bool is_untouched() const noexcept { return !peeked_ && channel_.queue.read_position() == 0; }

    /// Messages that can be read. More come meanwhile.
    std::uint64_t unread_messages() const noexcept { return channel_.credit.waiting(); }
    /// Messages that have come so far, and those of them that were read.
    std::uint64_t messages_come() const noexcept { return channel_.credit.sent(); }
    std::uint64_t messages_read() const noexcept { return channel_.credit.taken(); }

private:
    static std::uint8_t part_flags(std::uint8_t header_flags) noexcept
    {
        return header_flags & (engine::zmtp3::flag_more | engine::zmtp3::flag_command);
    }
    bool reads_otherwise() const noexcept { return conflates_ | part_apart_; }
    taken_part take_if(std::size_t max_bytes, bool with_more) noexcept
    {
        base::byte_queue& queue = channel_.queue;
        const std::byte* const at = queue.read_begin();
        const auto available = static_cast<std::size_t>(queue.read_end() - at);
        engine::zmtp3::frame_header header;
        if (reads_otherwise() || !engine::zmtp3::decode_header(at, available, header) ||
            header.body_bytes > std::min(available - header.header_bytes, max_bytes))
            return {};
        const bool more = (header.flags & engine::zmtp3::flag_more) != 0;
        if (more && !with_more)
            return {};
        peeked_ = false;
        queue.consume(header.header_bytes + header.body_bytes);
        if (!more && channel_.credit.add_taken(1)) [[unlikely]]
            tell_of_room();
        return {at + header.header_bytes, header.body_bytes, more};
    }
    bool load() noexcept;
    bool sleep() noexcept;
    void give_part(frame& part) const noexcept;
    bool peek_newest(frame& part) noexcept;
    bool take_newest() noexcept;
    void tell_of_room() noexcept;

    base::channel& channel_;
    // the part peeked last
    std::size_t part_header_bytes_ = 0;
    std::size_t part_bytes_ = 0;
    std::uint8_t part_flags_ = 0;
    bool part_apart_ = false; ///< its body has a buffer of its own; its header was consumed
    bool part_more_ = false;
    bool peeked_ = false;
    bool conflates_ = false;
    bool is_inproc_ = false;
    base::buffer_ref newest_; ///< what the part lies in, if it comes from the conflation slot
    frame part_;              ///< then
    inlet* inlet_ = nullptr;
    pipe_peer* writer_ = nullptr;
    std::unique_ptr<base::reader_back_off> back_off_;
};

} // namespace zlink::core
