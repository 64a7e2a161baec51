// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/system/sockets_of_parent.hpp"
#include "transport/scheme.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace zlink::transport {

/// As `socket.open(protocol, error)`, but programs that the process executes, and processes that it
/// forks off, do not inherit the socket: a listener of Asio's own would stay bound for as long as a
/// child lives.
template <class Socket>
void open_socket(Socket& socket, const typename Socket::protocol_type& protocol, error_code& error)
{
    const int fd = ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC, protocol.protocol());
    if (fd < 0) {
        error.assign(errno, boost::system::system_category());
        return;
    }
    base::close_in_children(fd);
    socket.assign(protocol, fd, error);
    if (error)
        ::close(fd);
}

} // namespace zlink::transport
