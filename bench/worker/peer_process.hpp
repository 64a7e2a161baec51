// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/control_channel.hpp"
#include "worker/settings.hpp"

#include <sys/types.h>

namespace zlink::bench::worker {

/// A second process of this program, for the side that is not measured.
struct peer_process {
    pid_t id = -1;
    int output = -1; ///< its standard output, to be read until its end
};

/// Starts this program again with the same arguments as the peer, and gives it `control`. It dies
/// with the calling thread. Call this before other threads exist. Throws `failure`.
peer_process start_peer(const settings& chosen, char** argv, const control_channel& control);

/// Waits for the end of the peer and throws `failure` unless it ended well.
void join_peer(const peer_process& peer);

} // namespace zlink::bench::worker
