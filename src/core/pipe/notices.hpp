// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/options.hpp"
#include "core/pipe/frame.hpp"

#include <string_view>

/// Messages about connections, made by the library itself: what a socket sends to every new peer,
/// and what it tells its own application when a peer comes or goes.
///
/// Thread safety: pure functions. Lifetime: what they return borrows from the options.
namespace zlink::core {

/// ZMQ_HELLO_MSG, the first message to every new peer and on every new connection to it; empty =
/// none, or sockets of this type do not greet.
std::string_view hello_message(const socket_options& options) noexcept;

/// ZMQ_DISCONNECT_MSG, received as the last message of a peer that has gone; empty = none, or
/// sockets of this type do not want it.
std::string_view disconnect_message(const socket_options& options) noexcept;

/// ZMQ_HICCUP_MSG, received when a connection is lost and will be made again; empty as above.
std::string_view hiccup_message(const socket_options& options) noexcept;

/// ZMQ_ROUTER_NOTIFY, ZMQ_STREAM_NOTIFY: is an empty message received from a peer that has come, or
/// that has gone?
bool notifies_connect(const socket_options& options) noexcept;
bool notifies_disconnect(const socket_options& options) noexcept;

/// A notice as the application's socket receives it. `is_marked`, see socket_type_traits: by the
/// command flag, as no peer can send that.
frame notice_frame(bool is_marked, std::string_view text) noexcept;

} // namespace zlink::core
