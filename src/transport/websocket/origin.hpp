// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// Origins as RFC 6454 writes them: "scheme://host", ":port" unless it is the scheme's own, or
/// "null". A browser names that of the page that opens a WebSocket.
///
/// Thread safety: pure functions.
/// Errors: only memory exhaustion throws (std::bad_alloc).
namespace zlink::transport::websocket {

/// Room for a scheme, a name of DNS and a port, with plenty to spare in the head of a request.
inline constexpr std::size_t most_origin_bytes = 1024;

/// Is this one origin? A host has letters, digits, '.', '-' and '_', or is an IPv6 address in
/// brackets; a path, even "/", a user and wildcards belong to no origin.
bool is_origin(std::string_view text);

/// Is this at least one origin, with commas, spaces or tabs between them?
bool is_origin_list(std::string_view text);

/// Is `origin` one of the list? Schemes and hosts are the same in capitals, and a port that is the
/// scheme's own may be left out. What is no origin is in no list; "null" is where it is listed.
bool admits_origin(std::string_view list, std::string_view origin);

} // namespace zlink::transport::websocket
