// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zlink::base {

/// Has a process that is forked off close its copy of the socket `fd`, just opened, at once. A copy
/// would keep the address in use, and the peer from seeing the end, for as long as the child lives.
///
/// Nothing is to be said when the socket is closed: what has the number then is another file, and a
/// child sees that. Forgotten if there is no memory. Any thread.
void close_in_children(int fd) noexcept;
/// The same for a duplicate of such a socket, without asking the kernel.
void close_in_children_too(int duplicate, int fd) noexcept;

} // namespace zlink::base
