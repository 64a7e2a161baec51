// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/short_bytes.hpp"
#include "core/pipe/metadata.hpp"
#include "core/pipe/shared_text.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zlink::core {

/// Where a pipe comes from: its maker (a connection, datagrams, inproc) fills this in before a
/// socket has the pipe.
struct pipe_origin {
    shared_text endpoint;          ///< as given to connect; of an accepted connection as bound
    std::string far_end;           ///< of an accepted connection: the endpoint of the peer
    bool connected_side = false;   ///< made by zmq_connect, or by a connection that this made
    bool is_inproc = false;        ///< both ends are in this process
    bool takes_all_groups = false; ///< of a RADIO: the peer joins none and is sent every message
    /// Any thread: is there a peer to take subscriptions now? If not, they need not be queued: each
    /// new connection is told all of them. Set under the lock of the subscriptions, cleared
    /// without.
    std::atomic<bool> takes_subscriptions{false};
};

/// What a socket and its pattern keep of one pipe. The pipe end carries it and never reads it.
/// Thread safety: the socket's thread.
struct pipe_slot {
    std::uint32_t number = 0;       ///< in pipe_table
    bool made_by_call = false;      ///< within zmq_connect
    bool last_words_follow = false; ///< between `leaving` and `closed`
    bool dropped = false;           ///< the socket is going to close the pipe
    metadata_stock properties;      ///< of the peer, for messages
    std::uint32_t peer_id = 0;      ///< routing id of the peer, with SERVER and PEER
    std::size_t in_index = 0;       ///< position in the fair queue
    std::size_t out_index = 0;      ///< position in the load balancer or fan-out
    std::string routing_id;         ///< the peer's, with ROUTER and STREAM, once it is known

    /// Is this the routing id of the peer?
    bool is_named(std::string_view id) const noexcept
    {
        return id.size() == routing_id.size() &&
               base::same_bytes(id.data(), routing_id.data(), id.size());
    }
};

} // namespace zlink::core
