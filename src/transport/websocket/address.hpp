// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// "host:port/path", as endpoints of WebSockets are written.
///
/// Thread safety: pure functions.
/// Errors: only memory exhaustion throws (std::bad_alloc).
namespace zlink::transport::websocket {

/// A request with a longer path would not fit into the head that others read.
inline constexpr std::size_t most_path_bytes = 4096;

struct address {
    /// "host:port", perhaps after "source:port;": what tcp connects to or binds.
    std::string tcp;
    /// With its slash, and "?query" if there is one.
    std::string path = "/";
};

/// Splits at the first slash; without one the path is "/". Nothing if the path is too long, or has
/// what a request cannot carry as it is: spaces, control characters, a fragment ("#...") and what
/// is not ASCII.
std::optional<address> split(std::string_view text);

/// How a request names the host of such an address ("host:port", see address::tcp): without the
/// source, the zone of an IPv6 address, and the default port.
std::string host_field(std::string_view tcp, std::string_view default_port);

} // namespace zlink::transport::websocket
