// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/framing.hpp"

#include <string>
#include <string_view>
#include <vector>

/// ZWS 2.0 (RFC 45), ZMTP over WebSockets: what the names of its protocols mean.
///
/// Thread safety: pure functions.
/// Errors: only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine {

/// The protocols of a socket with this mechanism, the best first. The one without a mechanism,
/// which tells nothing of the peer, is left out where peers have to be authenticated.
std::vector<std::string> zws_protocols(std::string_view mechanism, bool must_authenticate);

/// How a connection is framed on which this protocol was agreed; with none (an empty name), each
/// binary message is a chunk of bytes.
framing zws_framing(std::string_view protocol, bool has_connected);

} // namespace zlink::engine
