// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/scheme.hpp"
#include "transport/socks/socks5.hpp"

#include <chrono>

namespace zlink::transport {

/// Has the SOCKS proxy at the other end of `proxy` connect to a target; `handler` gets the same
/// stream, then ready to talk to the target. ETIMEDOUT if that takes longer than `limit`;
/// ECONNRESET if the proxy hangs up. If it fails, the handler is told of the stream as of a closed
/// socket first.
/// Thread safety: the thread of the I/O context only.
std::shared_ptr<connect_attempt>
connect_through(boost::asio::io_context& io, std::unique_ptr<stream> proxy, socks5_request request,
                std::chrono::milliseconds limit, connect_handler handler);

} // namespace zlink::transport
