// SPDX-License-Identifier: Apache-2.0
#include "support/plain_tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace zlink::test {
namespace {

sockaddr_in loopback(int port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

bool readable(int fd, std::chrono::milliseconds window)
{
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, static_cast<int>(window.count())) == 1;
}

} // namespace

plain_connection& plain_connection::operator=(plain_connection&& other) noexcept
{
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

std::optional<plain_connection> plain_connection::try_to(int port)
{
    plain_connection made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (::connect(made.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return std::nullopt;
    return made;
}

plain_connection plain_connection::to(int port)
{
    auto made = try_to(port);
    if (!made)
        throw std::runtime_error("cannot connect");
    return std::move(*made);
}

void plain_connection::close()
{
    if (fd_ >= 0)
        ::close(std::exchange(fd_, -1));
}

void plain_connection::send(const std::string& bytes) const
{
    if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("cannot send");
}

std::string plain_connection::recv(std::size_t count, std::chrono::milliseconds window) const
{
    std::string bytes;
    while (bytes.size() < count && readable(fd_, window)) {
        char buffer[1024];
        const ssize_t got =
            ::recv(fd_, buffer, std::min(sizeof buffer, count - bytes.size()), MSG_DONTWAIT);
        if (got <= 0)
            break;
        bytes.append(buffer, static_cast<std::size_t>(got));
    }
    return bytes;
}

bool plain_connection::ended(std::chrono::milliseconds window) const
{
    char byte = 0;
    return readable(fd_, window) && ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

plain_listener::plain_listener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
{
    sockaddr_in address = loopback(0);
    socklen_t bytes = sizeof address;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
        ::listen(fd_, 100) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
        throw std::runtime_error("cannot listen");
    port_ = ntohs(address.sin_port);
}

plain_listener::~plain_listener()
{
    ::close(fd_);
}

std::optional<plain_connection> plain_listener::accept(std::chrono::milliseconds window) const
{
    if (!readable(fd_, window))
        return std::nullopt;
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
        return std::nullopt;
    return plain_connection(fd);
}

} // namespace zlink::test
