// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"

namespace zlink::transport {

/// TLS 1.3 and 1.2 over TCP: "tls://host:port", with all that addresses and options of TCP may say.
/// EINVAL to bind or connect: see tls_parts::context::make().
extern const scheme tls;
/// "tls+tcp://host:port": the same; shown as the other.
extern const scheme tls_tcp;

} // namespace zlink::transport
