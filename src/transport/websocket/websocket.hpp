// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"
#include "transport/socket_stream.hpp"
#include "transport/websocket/http_upgrade.hpp"

#include <memory>
#include <string>

namespace zlink::transport {

/// "ws://host:port/path": WebSockets over tcp, whose addresses and options it has. Endpoints that
/// are bound with the same host and port share it, and paths tell them apart; a single one takes
/// any path.
extern const scheme ws;

/// What transports are made of that have WebSockets over something else.
namespace websocket {

/// The same endpoints, with the opening of a WebSocket as the last upgrade.
std::shared_ptr<connect_endpoint> over(std::shared_ptr<connect_endpoint> below,
                                       request_fields fields);
/// Where it listens, below the path.
struct listening_place {
    std::string endpoint; ///< as it can be shared by several paths; empty = it cannot
    const socket_kind& kind;
    std::shared_ptr<const options> settings;
};
std::shared_ptr<bind_endpoint> over(std::shared_ptr<bind_endpoint> below, listening_place where,
                                    std::string path);

} // namespace websocket

} // namespace zlink::transport
