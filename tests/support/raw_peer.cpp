// SPDX-License-Identifier: Apache-2.0
#include "support/raw_peer.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace zlink::test {
namespace {

[[noreturn]] void fail(const std::string& what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool comes(int fd, short events, std::chrono::milliseconds window)
{
    pollfd entry{fd, events, 0};
    return ::poll(&entry, 1, static_cast<int>(window.count())) == 1;
}

void wait_for(int fd, short events)
{
    errno = ETIMEDOUT; // poll says nothing when the time is up
    if (!comes(fd, events, patience))
        fail("poll");
}

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

sockaddr_un file_of(const std::string& endpoint)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    endpoint.copy(address.sun_path, sizeof address.sun_path - 1, 6);
    return address;
}

} // namespace

std::optional<raw_peer> raw_peer::try_to(const std::string& endpoint)
{
    const bool is_tcp = endpoint.starts_with("tcp://");
    raw_peer made(::socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int result = -1;
    if (is_tcp) {
        const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
        const sockaddr_in address = loopback(static_cast<std::uint16_t>(port));
        result = ::connect(made.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } else {
        const sockaddr_un address = file_of(endpoint);
        result = ::connect(made.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    if (result != 0)
        return std::nullopt;
    return made;
}

raw_peer::raw_peer(const std::string& endpoint)
{
    auto made = try_to(endpoint);
    if (!made)
        fail("connect to " + endpoint);
    *this = std::move(*made);
}

void raw_peer::send(const std::string& bytes) const
{
    std::string_view left = bytes;
    while (!left.empty()) {
        wait_for(fd_, POLLOUT);
        const ssize_t sent = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            fail("send");
        left.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
}

void raw_peer::wait_until_sent() const
{
    const bool sent = wait_until([this] {
        int bytes = 0;
        // Other sockets than those of TCP do not know the request: they pass on at once.
        return ::ioctl(fd_, SIOCOUTQNSD, &bytes) != 0 || bytes == 0;
    });
    if (!sent)
        throw std::runtime_error("the kernel keeps what was sent");
}

std::string raw_peer::recv(std::size_t bytes) const
{
    std::string received(bytes, '\0');
    for (std::size_t have = 0; have < bytes;) {
        wait_for(fd_, POLLIN);
        const ssize_t got = ::recv(fd_, received.data() + have, bytes - have, 0);
        if (got <= 0)
            fail("recv after " + std::to_string(have) + " of " + std::to_string(bytes) + " bytes");
        have += static_cast<std::size_t>(got);
    }
    return received;
}

std::string raw_peer::recv_at_most(std::size_t bytes, std::chrono::milliseconds window) const
{
    std::string received;
    while (received.size() < bytes && comes(fd_, POLLIN, window)) {
        char buffer[1024];
        const ssize_t got =
            ::recv(fd_, buffer, std::min(sizeof buffer, bytes - received.size()), MSG_DONTWAIT);
        if (got <= 0)
            break;
        received.append(buffer, static_cast<std::size_t>(got));
    }
    return received;
}

std::string raw_peer::recv_to_end() const
{
    std::string received;
    char buffer[65536];
    for (;;) {
        wait_for(fd_, POLLIN);
        const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
        if (got <= 0)
            return received;
        received.append(buffer, static_cast<std::size_t>(got));
    }
}

bool raw_peer::ended(std::chrono::milliseconds window) const
{
    char byte = 0;
    return comes(fd_, POLLIN, window) && ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

void raw_peer::close()
{
    if (fd_ >= 0)
        ::close(std::exchange(fd_, -1));
}

void raw_peer::abort()
{
    const linger at_once{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

raw_listener::raw_listener(int backlog)
{
    listen_on_port(backlog);
}

raw_listener::raw_listener(transport kind)
{
    constexpr int backlog = 100;
    if (kind == transport::tcp) {
        listen_on_port(backlog);
        return;
    }
    if (kind != transport::ipc)
        throw std::logic_error("no raw peer speaks this");
    file_ = known_address(transport::ipc);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = file_of(file_);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd_, backlog) != 0)
        fail("listen");
}

void raw_listener::listen_on_port(int backlog)
{
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t bytes = sizeof address;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd_, backlog) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
        fail("listen");
    port_ = ntohs(address.sin_port);
}

raw_listener::~raw_listener()
{
    ::close(fd_);
}

std::optional<raw_peer> raw_listener::try_accept(std::chrono::milliseconds window) const
{
    if (!has_caller(window))
        return std::nullopt;
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
        return std::nullopt;
    return raw_peer(fd);
}

raw_peer raw_listener::accept() const
{
    errno = ETIMEDOUT;
    auto accepted = try_accept();
    if (!accepted)
        fail("accept");
    return std::move(*accepted);
}

bool raw_listener::has_caller(std::chrono::milliseconds window) const
{
    return comes(fd_, POLLIN, window);
}

} // namespace zlink::test
