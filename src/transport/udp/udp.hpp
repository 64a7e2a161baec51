// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/datagram.hpp"

namespace zlink::transport {

/// "udp://host:port" and "udp://interface;group:port", unicast and multicast, see zmq_udp(7).
extern const datagram_scheme udp;

} // namespace zlink::transport
