// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>

namespace zlink::transport {

/// How long close_after_peer() waits for the peer: a round trip over the slowest ways, and a bit.
inline constexpr std::chrono::milliseconds most_wait_for_peer{1000};

/// Ends a stream so that the peer gets what was written last, such as an alert or a reason: says
/// that nothing more will be written, and closes the stream once the peer has closed its side, or
/// after most_wait_for_peer. What comes meanwhile is thrown away. Had it come to a closed socket,
/// or been unread when that closed, the kernel would have answered with a reset, which can take
/// back what the peer has not read yet.
///
/// Thread safety: the thread of `io`. The end of `io` closes the stream as well.
void close_after_peer(boost::asio::io_context& io, std::unique_ptr<stream> ended) noexcept;

} // namespace zlink::transport
