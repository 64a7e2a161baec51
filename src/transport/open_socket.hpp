// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/system/owned_descriptor.hpp"
#include "base/system/sockets_of_parent.hpp"
#include "transport/scheme.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace zlink::transport {

/// As `socket.open(protocol, error)`, but programs that the process executes, and processes that it
/// forks off, do not inherit the socket: a listener of Asio's own would stay bound for as long as a
/// child lives.
template <class Socket>
void open_socket(Socket& socket, const typename Socket::protocol_type& protocol, error_code& error)
{
    base::owned_descriptor fd(
        ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC, protocol.protocol()));
    if (fd.get() < 0) {
        error.assign(errno, boost::system::system_category());
        return;
    }
    base::close_in_children(fd.get());
    socket.assign(protocol, fd.get(), error); // without memory it throws
    if (!error)
        fd.release();
}

} // namespace zlink::transport
