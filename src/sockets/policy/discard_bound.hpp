// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zlink::sockets {

/// How much unwanted input one call may still drop. When that is used up the rest waits for a later
/// call, so that no peer can keep a call from returning by sending faster than it drops.
struct discard_bound {
    /// Some tens of us worth.
    std::size_t remaining_parts = 1000;
};

} // namespace zlink::sockets
