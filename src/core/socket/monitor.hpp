// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace zlink::core {

class socket;

/// How an application wants to be told.
struct monitor_settings {
    std::string_view endpoint; ///< "inproc://..." to bind
    std::uint64_t events = 0;  ///< ZMQ_EVENT_* bits
    int version = 1;           ///< of the messages: 1 or 2
    int socket_type = 0;       ///< ZMQ_PAIR, ZMQ_PUB or ZMQ_PUSH
};

/// Tells an application what happens to the connections of a socket, by messages of an internal
/// socket: an event_listener that never waits for who listens. What neither the internal socket nor
/// a bounded backlog takes is dropped.
///
/// Begins, in place of what was going on before (which ends even if this fails to bind). 0 or
/// errno: EINVAL, EPROTONOSUPPORT (not inproc), EADDRINUSE, EMFILE, ETERM. Thread safety: that of
/// the socket.
int start_monitor(socket& watched, const monitor_settings& settings);
/// Ends it with ZMQ_EVENT_MONITOR_STOPPED. 0 or ETERM.
int stop_monitor(socket& watched);

} // namespace zlink::core
