// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/wire/frame_cipher.hpp"
#include "engine/wire/frame_codec.hpp"
#include "engine/wire/write_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace zlink::engine {

/// A frame as it lies in a queue, on its way to a connection.
struct queued_frame {
    std::uint8_t flags; ///< zmtp3::flag_more and zmtp3::flag_command
    std::span<const std::byte> body;
    base::buffer* owner;    ///< what the body lies in, if it may be referred to; else null
    std::uint64_t position; ///< of the frame, in the queue; UINT64_MAX: it never was in one
};

class frame_encoder;

/// Which of the queued frames a peer gets, and as what: the innermost layer of a `wire`.
///
/// Thread safety: one thread at a time, the one that writes.
class message_filter {
public:
    virtual ~message_filter() = default;
    /// Do all frames from this queue position on pass as they are?
    virtual bool passes_all(std::uint64_t position) const noexcept = 0;
    /// Puts to `out` the frame that the peer gets in the place of this one, or none. Throws
    /// std::bad_alloc only, and has put nothing then.
    virtual void filter(const queued_frame& frame, frame_encoder& out) = 0;
};

/// What stands between the queue of a pipe and the byte stream of one connection: a message filter
/// (going out only), a frame cipher and a frame codec, in this order. The session makes it when the
/// connection opens: the codec is that of the transport's row or of the peer's version of ZMTP, the
/// mechanism brings the cipher, a socket that subscribes the filter.
/// Thread safety: the writing and the reading thread share cipher and codec; the filter is the
/// writer's.
struct wire {
    message_filter* filter = nullptr;               ///< null: all frames pass; not owned
    std::shared_ptr<frame_cipher> cipher = nullptr; ///< null: frames are not encrypted
    std::shared_ptr<frame_codec> codec = zmtp3_codec();
    /// The queue holds plain bytes without heads, which pass as they are (STREAM, ROUTER_RAW).
    bool is_plain_bytes = false;
    /// May the sending thread delay a small message, to write it together with the next ones?
    bool batches = true;

    /// Is it the default wire, that of an ordinary connection of ZMTP 3?
    bool is_default() const noexcept
    {
        return !filter && !cipher && !is_plain_bytes && batches &&
               codec->traits().encodes_queue_format && codec->traits().carries_commands;
    }
    /// Are frames that pass the filter written as they lie in the queue?
    bool encodes_queue_format() const noexcept
    {
        return is_plain_bytes || (!cipher && codec->traits().encodes_queue_format);
    }
    /// Do frames arrive as they lie in a queue?
    bool decodes_queue_format() const noexcept
    {
        return is_plain_bytes || (!cipher && codec->traits().decodes_queue_format);
    }
};

/// How a connection to a peer of this version of ZMTP is framed, when its transport has no
/// codec of its own.
std::shared_ptr<frame_codec> codec_for(std::uint8_t major_version) noexcept;

/// Encodes frames for a wire, behind its filter: seals them and gives them heads.
///
/// Thread safety: one thread at a time.
/// Errors: std::bad_alloc, and nothing of the frame was put; a cipher that fails is told by
/// failed(), and nothing is put any more.
class frame_encoder {
public:
    frame_encoder(const wire& how, write_batch& out) noexcept : wire_(how), out_(out) {}

    /// Puts one frame through the filter, if there is one.
    void put(const queued_frame& frame)
    {
        if (wire_.filter)
            wire_.filter->filter(frame, *this);
        else
            put_frame(frame.flags, frame.body, frame.owner);
    }
    /// Puts one frame; a large body is referred to if `owner`, in which it lies, is given. A
    /// command is left out if the codec carries none.
    void put_frame(std::uint8_t flags, std::span<const std::byte> body, base::buffer* owner)
    {
        encode(flags, body, owner, false);
    }
    /// The same for a body that is referred to without keeping its memory, see
    /// write_batch::append_borrowed().
    void put_borrowed(std::uint8_t flags, std::span<const std::byte> body)
    {
        encode(flags, body, nullptr, true);
    }
    /// Puts frames of this side's own making past the filter. `frames` consists of whole frames in
    /// the format of a queue; PING and PONG become control frames of the codec if it has such.
    /// Returns how many bytes of them were put: not all if memory is exhausted.
    std::size_t put_own(std::span<const std::byte> frames) noexcept;
    /// Has the cipher failed? The connection must end.
    bool failed() const noexcept { return failed_; }

private:
    void encode(std::uint8_t flags, std::span<const std::byte> body, base::buffer* owner,
                bool borrows);

    const wire& wire_;
    write_batch& out_;
    bool failed_ = false;
};

/// Appends a message of one part to frames in the format of a queue.
void append_message_frame(std::vector<std::byte>& frames, std::span<const std::byte> body);

/// The size on the wire of one frame in the format of a queue, put by frame_encoder::put_own().
std::size_t bytes_on_wire(const wire& how, std::span<const std::byte> frame);

} // namespace zlink::engine
