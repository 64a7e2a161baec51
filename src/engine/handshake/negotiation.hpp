// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/peer.hpp"
#include "transport/stream.hpp"

#include <functional>
#include <string>

namespace zlink::engine {

/// What a handshake works from and what it finds out. Owned by `handshake`, lent to the mechanism
/// for the length of each call.
struct negotiation {
    local_peer local;
    remote_peer remote;
    std::string peer_reason; ///< Reason of a received ERROR command, at most 255 bytes.
    /// What is known of the connection, for authenticators; may be null.
    std::function<transport::stream_info()> connection{};
};

} // namespace zlink::engine
