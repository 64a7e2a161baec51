// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/queue/channel.hpp"

namespace zlink::core {

/// The two directions of a pipe between a socket and one peer.
struct channel_pair {
    base::channel a_to_b;
    base::channel b_to_a;
};

} // namespace zlink::core
