// SPDX-License-Identifier: Apache-2.0
#include "support/raw_peer.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/wait.hpp"

namespace zlink::test {
namespace {

[[noreturn]] void fail(const std::string& what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

void wait_for(int fd, short events)
{
    pollfd entry{fd, events, 0};
    if (::poll(&entry, 1, static_cast<int>(patience.count())) != 1)
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

} // namespace

raw_peer::raw_peer(const std::string& endpoint)
{
    const bool is_tcp = endpoint.starts_with("tcp://");
    fd_ = ::socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = -1;
    if (is_tcp) {
        const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
        const sockaddr_in address = loopback(static_cast<std::uint16_t>(port));
        result = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } else {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        endpoint.copy(address.sun_path, sizeof address.sun_path - 1, 6);
        result = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    if (result != 0)
        fail("connect to " + endpoint);
}

void raw_peer::send(const std::string& bytes)
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

std::string raw_peer::recv(std::size_t bytes)
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

std::string raw_peer::recv_to_end()
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

raw_listener::raw_listener()
{
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t bytes = sizeof address;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd_, 16) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
        fail("listen");
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

raw_listener::~raw_listener()
{
    ::close(fd_);
}

raw_peer raw_listener::accept()
{
    wait_for(fd_, POLLIN);
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
        fail("accept");
    return raw_peer(fd);
}

bool raw_listener::has_caller(int window_ms) const
{
    pollfd entry{fd_, POLLIN, 0};
    return ::poll(&entry, 1, window_ms) == 1;
}

} // namespace zlink::test
