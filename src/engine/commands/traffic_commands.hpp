// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Commands that travel between messages once the handshake is done.
///
/// Thread safety: pure functions on caller memory.
/// Errors: values; only memory exhaustion of a vector throws (std::bad_alloc).
/// Lifetime: parsed arguments borrow from the parsed body.
namespace zlink::engine {

enum class traffic_command_kind : std::uint8_t {
    other,     ///< Unknown or malformed; to be ignored, the connection goes on.
    subscribe, ///< Argument: topic prefix.
    cancel,    ///< Argument: topic prefix.
    ping,      ///< Argument: context to echo; has a time to live.
    pong,      ///< Argument: context of the ping.
    join,      ///< Argument: group.
    leave,     ///< Argument: group.
    close,     ///< The peer ends the connection. No command: only control frames of codecs say it.
};

/// A context beyond this many bytes is neither echoed to nor sent to peers that get commands.
inline constexpr std::size_t max_ping_context_bytes = 16;
/// What the control frames of a codec carry may be as long as this, see
/// codec_traits::max_context_bytes.
inline constexpr std::size_t longest_context_bytes = 125;

/// The unit of a time to live on the wire.
inline constexpr std::uint32_t ttl_unit_ms = 100;
/// The largest one that the wire can carry.
inline constexpr std::uint32_t max_ping_ttl_ms = 6'553'500;

/// One command, parsed or to be built.
struct traffic_command {
    traffic_command_kind kind = traffic_command_kind::other;
    std::span<const std::byte> argument = {};
    /// PING only: how long its sender wants to be thought alive, 0 = no opinion. On the wire in
    /// tenths of a second: rounded down, and capped at `max_ping_ttl_ms`.
    std::uint32_t ttl_ms = 0;
};

/// Reads a command body (without frame header). Unknown names, unreadable names and a PING without
/// a complete time to live give `other`. The context of PING and PONG is cut to
/// longest_context_bytes.
traffic_command parse_traffic_command(std::span<const std::byte> body) noexcept;

/// Size of the frame that carries `command`, header included; 0 for `other` and `close`.
std::size_t traffic_command_frame_bytes(const traffic_command& command) noexcept;

/// Writes the frame to the beginning of `out` and returns its size; writes nothing and returns 0
/// when `out` is too small or the kind is `other` or `close`.
std::size_t write_traffic_command(std::span<std::byte> out,
                                  const traffic_command& command) noexcept;

/// Appends the frame to `out`; nothing for `other` and `close`.
void append_traffic_command(std::vector<std::byte>& out, const traffic_command& command);

} // namespace zlink::engine
