// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/codec/zmtp3.hpp"
#include "engine/handshake_error.hpp"

/// Command frames of ZMTP 3.x. A command body is a name length (1 byte, 1 to 255), the name and the
/// command's data.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe. The functions are pure.
/// Errors: values; only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine {

/// A command body taken apart. Both views borrow from the parsed body.
struct command_view {
    std::string_view name;
    std::span<const std::byte> data;
};

/// Splits a command body; nothing when it is empty, the name is empty or runs past the end.
std::optional<command_view> parse_command(std::span<const std::byte> body) noexcept;

/// Appends a command body (length-prefixed name, then `data`), without frame header. `name` has 1
/// to 255 bytes.
void append_command_body(std::vector<std::byte>& out, std::string_view name,
                         std::span<const std::byte> data = {});

/// Appends a frame around a finished command body.
void append_command_frame(std::vector<std::byte>& out, std::span<const std::byte> body);

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
    explicit command_reader(std::size_t max_body_bytes) noexcept : max_body_bytes_(max_body_bytes)
    {}

    /// Takes bytes up to the end of the current frame; returns how many. Takes nothing once
    /// `complete()` or `too_large()`.
    std::size_t feed(std::span<const std::byte> bytes);

    /// Whether `body()` is a whole command body.
    bool complete() const noexcept;

    /// Whether the current frame announced a body above the limit. Final.
    bool too_large() const noexcept { return header_.body_bytes > max_body_bytes_; }

    /// The body of the complete frame; valid until `next()`.
    std::span<const std::byte> body() const noexcept { return body_; }

    /// Starts over for the next frame. Gives the memory of this one back: the reader may live as
    /// long as its connection, but a handshake has few frames.
    void next() noexcept;

    /// Bytes kept of the current frame, header included.
    std::size_t buffered_bytes() const noexcept { return raw_header_bytes_ + body_.size(); }

private:
    bool header_known() const noexcept { return header_.header_bytes != 0; }

    std::size_t max_body_bytes_;
    std::byte raw_header_[zmtp3::max_header_bytes]{};
    std::size_t raw_header_bytes_ = 0;
    zmtp3::frame_header header_{};
    std::vector<std::byte> body_;
};

} // namespace zlink::engine
