// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/authenticator.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The messages of ZAP 1.0 (RFC 27): a library asks a handler of the application whether a peer is
/// admitted.
///
/// Thread safety: pure functions. Errors: values; only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine::zap {

/// Where handlers are bound, as inproc name.
inline constexpr std::string_view handler_name = "zeromq.zap.01";
/// How many parts a reply has, its empty delimiter included.
inline constexpr std::size_t reply_parts = 7;

/// What a handler is told besides the credentials.
struct question {
    std::string_view domain;
    std::string_view routing_id; ///< of the asking socket
};

/// The parts of a request, an empty delimiter before them.
std::vector<std::string_view> request_parts(const question& about, const credentials& presented);

/// What a reply says, whose parts (the delimiter included) these are.
verdict read_reply(std::span<const std::string> parts);

} // namespace zlink::engine::zap
