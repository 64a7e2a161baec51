// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zlink::core {

/// How an end of a pipe ends, for the other one.
enum class pipe_ending : std::uint8_t {
    /// The end is gone. What it committed may still be sent for the linger time.
    closed,
    /// The same, as the peer is not wanted now: nothing is sent any more, and it may be tried
    /// again.
    refused,
    /// Nothing more is written, as the connection is no longer wanted. What has come by now is
    /// still read; pipe_end::closed follows.
    left,
    /// Nothing more is written: when all is sent the peer shall go, which pipe_end::closed tells.
    /// What the peer has sent can still be read.
    output_ended,
};

/// What one end of a pipe has to tell the other. Called in the thread of the caller's end. Where a
/// connection carries the messages, those are told to its outlet and its inlet instead.
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
