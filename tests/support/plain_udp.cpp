// SPDX-License-Identifier: Apache-2.0
#include "support/plain_udp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace zlink::test {
namespace {

struct socket_address {
    sockaddr_storage storage{};
    socklen_t bytes = 0;

    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    int port() const
    {
        return ntohs(storage.ss_family == AF_INET6
                         ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                         : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
    }
};

socket_address address_of(const std::string& host, int port)
{
    socket_address result;
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
    if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(static_cast<std::uint16_t>(port));
        result.bytes = sizeof *v4;
    } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(static_cast<std::uint16_t>(port));
        result.bytes = sizeof *v6;
    } else {
        throw std::runtime_error("no address: " + host);
    }
    return result;
}

} // namespace

plain_udp::plain_udp(const std::string& host) : host_(host), fd_(-1)
{
    socket_address address = address_of(host, 0);
    fd_ = ::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || ::bind(fd_, address.get(), address.bytes) != 0 ||
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes) != 0)
        throw std::runtime_error("cannot bind " + host);
    port_ = address.port();
}

plain_udp::~plain_udp()
{
    ::close(fd_);
}

std::string plain_udp::address() const
{
    const bool v6 = host_.find(':') != std::string::npos;
    return (v6 ? "[" + host_ + "]" : host_) + ":" + std::to_string(port_);
}

void plain_udp::join(const std::string& group, const std::string& interface_address) const
{
    ip_mreq request{};
    if (::inet_pton(AF_INET, group.c_str(), &request.imr_multiaddr) != 1 ||
        ::inet_pton(AF_INET, interface_address.c_str(), &request.imr_interface) != 1 ||
        ::setsockopt(fd_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) != 0)
        throw std::runtime_error("cannot join " + group);
}

void plain_udp::send(const std::string& bytes, const std::string& host, int port) const
{
    const socket_address to = address_of(host, port);
    if (::sendto(fd_, bytes.data(), bytes.size(), 0, to.get(), to.bytes) !=
        static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("cannot send to " + host);
}

std::optional<std::string> plain_udp::recv(std::chrono::milliseconds window) const
{
    pollfd item{fd_, POLLIN, 0};
    if (::poll(&item, 1, static_cast<int>(window.count())) != 1)
        return std::nullopt;
    std::vector<char> buffer(65'536);
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0)
        return std::nullopt;
    return std::string(buffer.data(), static_cast<std::size_t>(got));
}

int port_of(const std::string& endpoint)
{
    return std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
}

} // namespace zlink::test
