// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"

namespace zlink::transport {

/// "wss://host:port/path": WebSockets in TLS over TCP: the addresses of ws, the options of tls.
extern const scheme wss;

} // namespace zlink::transport
