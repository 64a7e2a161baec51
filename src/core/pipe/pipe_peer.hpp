// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zlink::core {

/// How one end of a pipe ends, as the other one is told.
enum class pipe_ending : std::uint8_t {
    /// The end is gone. What it committed may still be sent for the linger time.
    closed,
    /// The end is gone, because the peer is not wanted now: nothing is sent any more, and the
    /// connection may be made again.
    refused,
    /// Nothing more is written, as the connection is no longer wanted. What has come by now is
    /// still read; pipe_end::closed follows.
    left,
    /// Nothing more is written: when all is sent the peer shall go, which pipe_end::closed tells.
    /// What the peer has sent can still be read.
    output_ended,
};

/// What one end of a pipe tells the other, in the thread of the end that tells. Where a connection
/// carries the messages, its outlet and its inlet are told of those instead.
class pipe_peer {
public:
    virtual ~pipe_peer() = default;
    /// Messages were committed, and the other end slept.
    virtual void on_readable() noexcept {}
    /// Messages were taken, and the other end waits for room.
    virtual void on_writable() noexcept {}
    /// `linger_ms`, for `closed` only: -1 = for ever.
    virtual void on_ended(pipe_ending how, int linger_ms) noexcept = 0;
};

} // namespace zlink::core
