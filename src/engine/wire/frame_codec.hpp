// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/commands/traffic_commands.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace zlink::engine {

/// What the head of a frame on the wire says.
struct frame_head {
    std::uint8_t flags = 0;       ///< zmtp3::flag_more and zmtp3::flag_command; no other bits
    bool is_control = false;      ///< a control frame of the codec's own, see decode_control()
    std::size_t head_bytes = 0;   ///< the body starts this many bytes after the head
    std::uint64_t body_bytes = 0; ///< size of the body, any 64-bit value
    /// The body goes on: with that of the next frame that is no control frame, whose head has the
    /// same flags.
    bool continues = false;
};

/// What was done with a run of frames, see run_codec.
struct frame_run {
    std::size_t bytes_read = 0;    ///< 0: there is none
    std::size_t bytes_written = 0; ///< all of them
    /// Up to the end of the last message of which all parts have come.
    std::size_t message_bytes_written = 0;
    std::size_t messages = 0; ///< of which the last part is in the run
    bool more = false;        ///< the message of the last part goes on
    /// More frames of the run have come, and so much room is needed for the next one; 0: the run is
    /// over.
    std::size_t needed_bytes = 0;
};

/// Where a message ends, in bytes from the beginning of a run.
struct message_end {
    std::uint32_t bytes_read;
    std::uint32_t bytes_written;
};

/// Why a connection ends, where its codec has a frame to tell the peer.
enum class farewell : std::uint8_t {
    no_frame,     ///< The peer has sent what is no frame.
    too_large,    ///< It has sent a larger one than is allowed.
    unacceptable, ///< It has sent a message that the socket cannot take.
    closed,       ///< It has said that it ends the connection.
    done,         ///< This side wants no more of it.
};

/// Changes the bodies of the frames of one direction; keeps their size.
class body_mask {
public:
    /// Writes the whole body that belongs to the head encoded or decoded last, changed, to `to`,
    /// which may be where it lies.
    virtual void apply(std::span<const std::byte> body, std::byte* to) noexcept = 0;

protected:
    ~body_mask() = default;
};

/// Changes a body where it lies, if there is a mask.
inline void apply_in_place(body_mask* mask, std::span<std::byte> body) noexcept
{
    if (mask)
        mask->apply(body, body.data());
}

/// Encodes and decodes many small frames in one go, as that is most of what there is to do. What it
/// leaves is encoded and decoded frame by frame.
class run_codec {
public:
    /// Reads whole messages of short parts, which follow each other in `frames` as they lie in a
    /// queue, and writes their frames to `out`, as far as both are enough and there are entries of
    /// `ends`, one for each message. May stop earlier, and do nothing.
    virtual frame_run encode_run(std::span<const std::byte> frames, std::span<std::byte> out,
                                 std::span<message_end> ends) noexcept = 0;
    /// The way back: reads short whole frames of messages from `bytes`, and writes them as they lie
    /// in a queue. Stops at anything else, also at what is no frame. No body is larger than
    /// `max_body_bytes`.
    virtual frame_run decode_run(std::span<const std::byte> bytes, std::span<std::byte> out,
                                 std::uint64_t max_body_bytes) noexcept = 0;

protected:
    ~run_codec() = default;
};

/// What holds for all frames of a codec, and the parts that not every codec has.
struct codec_traits {
    /// Frames that are not commands are written as they lie in a queue: without a copy.
    bool encodes_queue_format = false;
    /// Frames arrive as they lie in a queue: they pass without a copy.
    bool decodes_queue_format = false;
    /// A frame can be a command. Commands for peers that know none are left out.
    bool carries_commands = true;
    /// The longest context of PING and PONG that can be sent.
    std::size_t max_context_bytes = max_ping_context_bytes;

    body_mask* sent_bodies = nullptr;     ///< null: they are sent as they are
    body_mask* received_bodies = nullptr; ///< null: they are what was sent
    run_codec* runs = nullptr;            ///< null: all frames go one by one
};

/// How frames lie on the wire of one connection: the outermost layer of a `wire`.
///
/// Thread safety: what encodes is called by one thread at a time, what decodes by one thread at a
/// time; one may encode while another one decodes. The same holds for the parts in traits().
/// Errors: what decodes reports what is no frame; nothing throws but encode_control() and
/// encode_farewell().
class frame_codec {
public:
    /// No head is longer.
    static constexpr std::size_t max_head_bytes = 32;

    enum class decoded : std::uint8_t {
        incomplete, ///< more bytes are needed
        head,
        no_frame, ///< these bytes can never become a frame: the connection ends
    };

    virtual ~frame_codec() = default;
    frame_codec(const frame_codec&) = delete;
    frame_codec& operator=(const frame_codec&) = delete;

    const codec_traits& traits() const noexcept { return traits_; }

    /// The size of the head of a frame that is no control frame of the codec's own.
    virtual std::size_t head_bytes(std::uint64_t body_bytes) const noexcept = 0;
    /// Writes the head of a frame to `out`, which has room for max_head_bytes; returns its size,
    /// head_bytes().
    virtual std::size_t encode_head(std::byte* out, std::uint8_t flags,
                                    std::uint64_t body_bytes) noexcept = 0;
    /// Reads the head that starts at `at`, of which `available` bytes may be read.
    virtual decoded decode_head(const std::byte* at, std::size_t available,
                                frame_head& head) noexcept = 0;

    /// Appends a control frame of the codec's own that says what `command` (PING or PONG) says.
    /// False if the codec has none: the command is sent as a frame then. Also called only to learn
    /// the size: it must not change what later frames depend on. Throws std::bad_alloc.
    virtual bool encode_control(std::vector<std::byte>&, const traffic_command&) { return false; }
    /// What a control frame with this (decoded) body says; `other` if nothing for upper layers,
    /// `close` if the connection is to end.
    virtual traffic_command decode_control(std::span<const std::byte>) noexcept { return {}; }
    /// Appends the last frame of the connection; nothing if the codec has none of the kind. What
    /// was decoded last may say more than `why`. Throws std::bad_alloc.
    virtual void encode_farewell(std::vector<std::byte>&, farewell) {}

protected:
    explicit frame_codec(const codec_traits& traits) noexcept : traits_(traits) {}

private:
    const codec_traits traits_;
};

/// The codecs of ZMTP, which have no state: one object each serves all connections.
std::shared_ptr<frame_codec> zmtp3_codec() noexcept;
std::shared_ptr<frame_codec> zmtp2_codec() noexcept; ///< as ZMTP 3, without commands
std::shared_ptr<frame_codec> zmtp1_codec() noexcept;

} // namespace zlink::engine
