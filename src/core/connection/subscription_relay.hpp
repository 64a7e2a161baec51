// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/socket_side.hpp"
#include "core/options/socket_type_traits.hpp"
#include "core/pipe/pipe.hpp"
#include "engine/handshake/peer.hpp"
#include "engine/wire/wire.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace zlink::core {

/// Tells the peer of a pipe what the socket subscribes to. Each new connection is told everything
/// first; what lies in the queue from before that is outdated then, what is queued later follows.
/// Peers older than ZMTP 3.1 are told by messages instead of commands, but of groups; those older
/// than 3.0 know no commands and are told of no groups.
///
/// Thread safety: begin() in the I/O thread while no connection is attached to writer;
/// as a filter it is used by whoever writes.
/// Lifetime: must last until the connection is detached.
class subscription_relay final : public engine::message_filter {
public:
    /// A connection begins: appends all subscriptions to `opening`, as frames in the format of a
    /// queue that need no filter any more. Calls `announce` before anything else is subscribed or
    /// cancelled. From then on the object is the filter of the connection.
    void begin(std::vector<std::byte>& opening, subscription_source& source, announced what,
               const engine::remote_peer& remote, pipe_end& pipe,
               const std::function<void()>& announce);

    bool passes_all(std::uint64_t position) const noexcept override
    {
        return !as_messages_ && !knows_no_groups_ && position >= stale_before_;
    }
    void filter(const engine::queued_frame& frame, engine::frame_encoder& out) override;

private:
    std::uint64_t stale_before_ = 0; ///< commands queued before this position are outdated
    bool as_messages_ = false;       ///< the peer is older than ZMTP 3.1
    bool knows_no_groups_ = false;   ///< it is older than ZMTP 3.0, and groups are what there is
    bool has_announced_ = false;     ///< subscriptions were told once
    std::vector<std::byte> scratch_; ///< the body of a message made of a command
};

} // namespace zlink::core
