// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/channel.hpp"
#include "base/tuning.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <utility>

namespace zlink::engine {

enum class inbound_error : std::uint8_t {
    none,
    too_large,
    bad_envelope,
    no_frame,
    closed, ///< no error: the peer has said that it ends the connection
    out_of_memory,
    // the cipher cannot open a frame, see cipher_fault
    not_encrypted,
    too_short,
    out_of_sequence,
    not_authentic,
};

/// Is told of the commands of a peer that do not enter the channel.
class command_handler {
public:
    virtual ~command_handler() = default;
    virtual void on_command(std::span<const std::byte> body) = 0;
};

/// The receiving half of a connection, sans I/O: bytes in, whole messages out into a channel. What
/// the bytes mean is up to the kind, of which each connection has one.
///
/// Thread safety: one thread at a time (the channel's consumer is another).
/// Lifetime: the channel must outlive the object.
class decoder {
public:
    /// prepare() uses no more.
    static constexpr std::size_t most_entries = 7;

    explicit decoder(base::channel& to) noexcept : to_(to) {}
    virtual ~decoder() = default;
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;

    /// Where the next bytes are to be read to: fills entries of `space` (at least two) and returns
    /// how many; 0 if memory is exhausted.
    virtual int prepare(std::span<iovec> space) noexcept = 0;
    /// Takes `bytes` bytes that were read there. Complete messages are published:
    /// consumer_was_asleep() tells whether the consumer must be woken.
    virtual inbound_error received(std::size_t bytes) = 0;
    /// After out_of_memory, or an exception, from received() or from here: tries once more to take
    /// what was received.
    virtual inbound_error go_on() { return inbound_error::none; }
    /// Drops the message of which only a part has come: the connection is lost.
    virtual void reset() noexcept = 0;
    /// Puts a message of this side's own making into the channel, before the first bytes of a
    /// connection or after reset(); limits do not count. False if memory is exhausted.
    bool append(std::uint8_t flags, std::span<const std::byte> body) noexcept;

    // The consumer's thread may have the next large body read straight to where it wants it, if it
    // reads by itself and comes for the body before it does anything else with the channel.

    struct outside_body {
        base::buffer* announced = nullptr; ///< what the channel has in its place; one reference
        std::size_t bytes = 0;
    };
    /// Destination for the next large body, if that is the first part that the consumer will read
    /// and fits there. The channel must be empty. The memory must stay valid until
    /// take_outside_body() or withdraw_memory().
    virtual void offer_memory(std::span<std::byte>) noexcept {}
    /// Takes the offer back: what was read there moves to memory of the channel, where the rest of
    /// the body follows.
    virtual void withdraw_memory() noexcept {}
    /// Is a body on its way into the offered memory?
    virtual bool reads_outside() const noexcept { return false; }
    /// Has a body been read there as a whole that nobody has taken yet?
    virtual bool has_outside_body() const noexcept { return false; }
    /// The body that was read there as a whole since the last call, if any: the consumer will find
    /// `announced` in the channel, of which only the first tuning::inproc::copied_at_once_bytes
    /// bytes are set.
    virtual outside_body take_outside_body() noexcept { return {}; }

    /// Has a message begun that is not complete?
    virtual bool in_message() const noexcept { return false; }

    bool consumer_was_asleep() noexcept { return std::exchange(wake_consumer_, false); }
    /// May the channel take more messages? If not, its producer will be told when it can.
    bool has_room() noexcept { return to_.credit.has_room_or_wait(); }
    /// The producer stops before the channel is full: it will be told when its messages are taken.
    void pause() noexcept { to_.credit.wait_for_report(); }
    /// In the last received(): did a message frame follow the last command that was reported, or
    /// come without any? The heartbeat then counts it as newer than a PING in the same bytes.
    bool went_on() const noexcept { return went_on_; }
    /// Whole messages so far.
    std::uint64_t messages() const noexcept { return to_.credit.sent(); }

protected:
    /// A frame of a message was put into the channel; `more`: others of that message follow.
    /// Whole messages become visible with publish().
    void end_of_frame(bool more) noexcept
    {
        in_message_ = more;
        went_on_ = true;
        if (more)
            return;
        to_.queue.mark(1);
        to_.credit.add_sent(1);
        marked_ = true;
    }
    /// The same for many frames: `bytes` bytes were written at the reserved place of the channel,
    /// and the first `message_bytes` of them end the last of `messages` whole messages; `more`: the
    /// message of the last frame goes on.
    void end_of_frames(std::size_t bytes, std::size_t message_bytes, std::uint64_t messages,
                       bool more) noexcept
    {
        base::byte_queue& queue = to_.queue;
        queue.advance(message_bytes);
        if (messages != 0) {
            queue.mark(messages);
            to_.credit.add_sent(messages);
            marked_ = true;
        }
        queue.advance(bytes - message_bytes);
        in_message_ = more;
    }
    void publish() noexcept
    {
        if (std::exchange(marked_, false))
            wake_consumer_ |= to_.queue.publish();
    }

    base::channel& to_;
    bool wake_consumer_ = false;
    bool went_on_ = false;
    bool marked_ = false;     ///< there is something to publish
    bool in_message_ = false; ///< the last frame is followed by others of its message
};

} // namespace zlink::engine
