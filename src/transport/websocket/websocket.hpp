// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"

namespace zlink::transport {

/// "ws://host:port/path": WebSockets over tcp, whose addresses and options it has. What is bound
/// takes any path.
extern const scheme ws;

} // namespace zlink::transport
