// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/flow.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::engine {

enum class inbound_error : std::uint8_t { none, too_large, bad_envelope, out_of_memory };

/// The receiving half of the traffic phase, sans I/O: bytes of a connection in, whole messages out
/// into a channel. Frames stay in the memory they were read into; the body of a large frame gets
/// memory of its own and is read straight into it.
///
/// Thread safety: one thread at a time (the channel's consumer is another).
/// Lifetime: the channel must outlive the object.
/// Memory: what the peer announces, at most `max_message_bytes` per frame, plus one chunk.
class inbound {
public:
    /// Is told of commands, which do not enter the channel.
    class command_handler {
    public:
        virtual ~command_handler() = default;
        virtual void on_command(std::span<const std::byte> body) = 0;
    };

    /// `keep_subscriptions`: SUBSCRIBE and CANCEL commands enter the channel, as messages.
    inbound(base::channel& to, std::int64_t max_message_bytes, bool keep_subscriptions,
            command_handler& commands) noexcept;
    ~inbound();
    inbound(const inbound&) = delete;
    inbound& operator=(const inbound&) = delete;

    /// From now on every message must begin as a reply does: an empty part, or a part of 4 bytes
    /// (the number of the request) and an empty one, with more to follow.
    void require_envelope() noexcept { envelope_ = envelope::start; }

    /// Where the next bytes are to be read to: fills one or two entries and returns how many; 0 if
    /// memory is exhausted.
    int prepare(iovec (&space)[2]) noexcept;
    /// Takes `bytes` bytes that were read there. Complete messages are published:
    /// consumer_was_asleep() tells whether the consumer must be woken.
    inbound_error received(std::size_t bytes);
    bool consumer_was_asleep() noexcept { return std::exchange(wake_consumer_, false); }
    /// May the channel take more messages? If not, its producer will be told when it can.
    bool has_room() noexcept { return to_.flow.has_room_or_wait(); }
    /// Drops the message of which only a part has come: the connection is lost.
    void reset() noexcept;

private:
    inbound_error walk();
    bool begin_body(std::uint64_t bytes, bool more) noexcept;
    bool finish_body() noexcept;
    void end_of_frame(bool more) noexcept;
    bool envelope_allows(std::uint64_t body_bytes, bool more) noexcept;

    base::channel& to_;
    command_handler& commands_;
    const std::uint64_t max_message_bytes_;
    const bool keep_subscriptions_;
    bool wake_consumer_ = false;
    bool marked_ = false;
    bool in_message_ = false;
    enum class envelope : std::uint8_t { any, start, after_number, body } envelope_ = envelope::any;

    std::size_t have_ = 0;    ///< bytes lying at the tail of the queue, not walked over yet
    std::size_t needed_ = 0;  ///< size of the incomplete frame they begin, 0 = unknown
    std::size_t read_bytes_;  ///< how much to read at a time: follows the traffic
    std::size_t offered_ = 0; ///< inline room offered by prepare()

    base::buffer* body_ = nullptr;
    std::size_t body_bytes_ = 0;
    std::size_t body_filled_ = 0;
    bool body_more_ = false;
};

} // namespace zlink::engine
