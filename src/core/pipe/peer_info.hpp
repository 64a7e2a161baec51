// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe/metadata.hpp"
#include "core/pipe/shared_text.hpp"

#include <string>

namespace zlink::engine {
struct remote_peer;
}
namespace zlink::transport {
struct stream_info;
}

namespace zlink::core {

/// What is known of the peer of a pipe.
struct peer_info {
    std::string routing_id;
    int socket_type = -1;
    metadata_ref properties;
    bool wants_newest = false; ///< it conflates what it receives, and so can the sender (inproc)
    shared_text disconnect_message; ///< its ZMQ_DISCONNECT_MSG (inproc)
    bool marks_notices = false;     ///< see socket_type_traits
};

/// The peer at the other end of a connection, as the handshake has told. Its properties are those
/// it has announced, and what can be said of the connection.
peer_info describe_peer(const engine::remote_peer& remote,
                        const transport::stream_info& connection);

} // namespace zlink::core
