// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/control_channel.hpp"
#include "worker/message_port.hpp"
#include "worker/settings.hpp"
#include "worker/zmq_handles.hpp"

#include <deque>

namespace zlink::bench::worker {

/// Sequence number of messages that only find out whether a link is up. Receivers skip them.
inline constexpr std::uint64_t probe_sequence = ~std::uint64_t{0};

/// Throws `unsupported` if the library does not have what the cell needs.
void require_socket_types(const settings& chosen);

/// The sockets of one side, connected to those of the other.
///
/// Most patterns use one socket per side. One-way patterns (PUB/SUB, PUSH/PULL) get a second pair
/// in the opposite direction where round trips are measured.
class links {
public:
    /// Creates and connects the sockets. The other side has to do the same at the same time. After
    /// that, subscriptions are active and routing ids are known, so that no message gets lost.
    links(const settings& chosen, side mine, const context& owner, control_channel& control);

    /// The port for messages between the sides. Lives as long as this object.
    message_port& port() { return port_; }

private:
    std::deque<socket> sockets_; ///< source to sink, then sink to source if that is another pair
    message_port port_;
};

} // namespace zlink::bench::worker
