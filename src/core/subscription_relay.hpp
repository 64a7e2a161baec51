// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/pipe.hpp"
#include "core/socket_link.hpp"
#include "engine/encoding.hpp"
#include "engine/peer.hpp"

#include <cstdint>
#include <functional>

namespace zlink::core {

/// Does the peer of a socket of this type have to know what it subscribes to?
bool sends_subscriptions(int socket_type) noexcept;

/// Tells the peer of a pipe what the socket subscribes to. Each new connection is told everything
/// first; what lies in the queue from before that is outdated then, what is queued later follows.
/// Peers older than ZMTP 3.1 are told by messages instead of commands, but of groups; those older
/// than 3.0 know no commands and are told of no groups.
///
/// Thread safety: begin() in the I/O thread while nothing is attached to the connection's
/// engine::outbound. The encoding is used by whoever writes, and only reads.
/// Lifetime: must last until what got the encoding is detached.
class subscription_relay {
public:
    /// A connection begins: appends all subscriptions to `opening`. Calls `announce` before
    /// anything else is subscribed or cancelled. Returns how the rest of what is queued is written.
    engine::encoding begin(engine::write_batch& opening, subscription_source& source,
                           int socket_type, const engine::remote_peer& remote, pipe_end& pipe,
                           const std::function<void()>& announce);

private:
    static void translate(engine::write_batch& out, const engine::queued_frame& frame,
                          const void* self);

    std::uint64_t stale_before_ = 0; ///< commands queued before this position are outdated
    bool as_messages_ = false;       ///< the peer is older than ZMTP 3.1
    bool knows_no_groups_ = false;   ///< it is older than ZMTP 3.0, and groups are what there is
    engine::framing frames_ = engine::framing::zmtp3;
    bool was_linked_ = false; ///< subscriptions were told once
};

} // namespace zlink::core
