// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"

#include <memory>
#include <string>

namespace zlink::transport {

/// "ws://host:port/path": WebSockets over tcp, whose addresses and options it has. What is bound
/// takes any path.
extern const scheme ws;

/// What transports are made of that have WebSockets over something else.
namespace websocket {

/// The same endpoints, with the opening of a WebSocket as the last upgrade. `host`: as HTTP has it.
std::shared_ptr<connect_endpoint> over(std::shared_ptr<connect_endpoint> below, std::string host,
                                       std::string path);
std::shared_ptr<bind_endpoint> over(std::shared_ptr<bind_endpoint> below, std::string path);

} // namespace websocket

} // namespace zlink::transport
