// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/mailbox.hpp"
#include "core/connection/event_sink.hpp"
#include "core/options/options.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace zlink::core {

class inproc_registry;
class pipe_end;
struct mechanism_row;

/// The subscriptions of a SUB or XSUB socket, for connections that come and go in I/O threads.
/// Thread safety: any thread.
class subscription_source {
public:
    virtual ~subscription_source() = default;
    /// Appends a SUBSCRIBE command frame for each subscription to `frames` and calls `then`, both
    /// under one lock, so that no change falls between them. Later changes are sent through `pipe`,
    /// even before the socket knows that pipe. `repeated`: as often as it was subscribed.
    virtual void snapshot(std::vector<std::byte>& frames, bool repeated, pipe_end& pipe,
                          const std::function<void()>& then) = 0;
};

class fan_out_writes;

/// What I/O objects know of the socket they work for. Outlives the socket.
struct socket_side {
    std::shared_ptr<base::mailbox> box;
    std::shared_ptr<subscription_source> subscriptions; ///< SUB and XSUB only
    std::shared_ptr<fan_out_writes> fan_out;            ///< not null
    event_sink events;                         ///< where to tell what happens to connections
    std::span<const mechanism_row> mechanisms; ///< that there are; not empty
    inproc_registry* inproc = nullptr;         ///< of the context; handlers of ZAP are bound there
    /// Sessions made by zmq_connect that will not connect again, see endpoint_status: the socket
    /// looks for them when this has changed.
    std::atomic<std::uint32_t> endpoints_given_up{0};
    /// Counted by the context: it is terminated when no socket and no I/O object is left.
    std::shared_ptr<void> context_hold;
};

} // namespace zlink::core
