// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/handshake_error.hpp"
#include "engine/wire/frame_codec.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The frames that carry the commands of a handshake.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe.
/// Errors: values; only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine {

/// Appends a frame around a finished body; flags as in ZMTP 3.
void append_frame(std::vector<std::byte>& out, std::uint8_t flags, std::span<const std::byte> body,
                  frame_codec& codec);

/// Reads the data of an ERROR command into `reason` (at most 255 bytes; bytes after the reason are
/// ignored). Returns `refused_by_peer`, or `malformed_error_command` with `reason` unchanged.
handshake_error read_error_command(std::span<const std::byte> data, std::string& reason);

/// Collects the frames of a handshake from arbitrary pieces of a byte stream.
///
/// Holds at most one frame header and the part of one body that was received so far, and never
/// more than the size limit: a frame that announces more is reported before any of it is kept.
/// The COMMAND bit and reserved bits are not looked at: peers are known to send handshake commands
/// in plain frames.
class command_reader {
public:
    /// Frames with bodies above `max_body_bytes` are refused.
    command_reader(std::size_t max_body_bytes, std::shared_ptr<frame_codec> codec) noexcept
        : max_body_bytes_(max_body_bytes), codec_(std::move(codec))
    {}

    /// Takes bytes up to the end of the current frame; returns how many. Takes nothing once
    /// `complete()`, `control_complete()`, `too_large()` or `no_frame()`.
    std::size_t feed(std::span<const std::byte> bytes);

    /// Whether `body()` is a whole command body.
    bool complete() const noexcept;

    /// Whether the current frame announced a body above the limit. Final.
    bool too_large() const noexcept
    {
        return head_.body_bytes > max_body_bytes_ - body_of_earlier_frames_;
    }
    /// Whether what was received can become no frame. Final.
    bool no_frame() const noexcept { return no_frame_; }

    /// The body of the complete frame; valid until `next()`.
    std::span<const std::byte> body() const noexcept { return body_; }

    /// Whether there is a control frame of the codec's own, perhaps in the middle of a command that
    /// comes in several frames.
    bool control_complete() const noexcept { return complete_ && head_.is_control; }
    /// The body of the control frame; valid until `next_after_control()`.
    std::span<const std::byte> control_body() const noexcept
    {
        return std::span(body_).subspan(body_of_earlier_frames_);
    }
    /// Goes on behind the control frame.
    void next_after_control() noexcept;

    /// Starts over for the next frame. Gives the memory of this one back: the reader may live as
    /// long as its connection, but a handshake has few frames.
    void next() noexcept;

    /// Bytes kept of the current frame, header included.
    std::size_t buffered_bytes() const noexcept { return raw_head_bytes_ + body_.size(); }

private:
    bool head_known() const noexcept { return head_.head_bytes != 0; }
    std::size_t feed_frame(std::span<const std::byte> bytes);
    void next_frame() noexcept;

    std::size_t max_body_bytes_;
    std::shared_ptr<frame_codec> codec_;
    std::byte raw_head_[frame_codec::max_head_bytes]{};
    std::size_t raw_head_bytes_ = 0;
    frame_head head_{};
    bool no_frame_ = false;
    bool complete_ = false;
    std::vector<std::byte> body_;
    std::size_t body_of_earlier_frames_ = 0; ///< of a body that comes in several
};

} // namespace zlink::engine
