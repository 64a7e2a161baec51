// SPDX-License-Identifier: Apache-2.0
#include "bare/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace zlink::bench::bare {

namespace {

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

void write_at_once(int fd)
{
    const int on = 1;
    checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
}

descriptor make_socket()
{
    return descriptor(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
}

} // namespace

descriptor::~descriptor()
{
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

descriptor listen_on_loopback(std::uint16_t& port)
{
    descriptor listener = make_socket();
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(listener.get(), generic, size), "bind");
    checked(::getsockname(listener.get(), generic, &size), "getsockname");
    checked(::listen(listener.get(), SOMAXCONN), "listen");
    port = ntohs(address.sin_port);
    return listener;
}

descriptor connect_to_loopback(std::uint16_t port)
{
    descriptor made = make_socket();
    const sockaddr_in address = loopback(port);
    checked(::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            "connect");
    write_at_once(made.get());
    return made;
}

descriptor accept_from(const descriptor& listener)
{
    descriptor accepted(
        checked(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    write_at_once(accepted.get());
    return accepted;
}

} // namespace zlink::bench::bare
