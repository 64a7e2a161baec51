// SPDX-License-Identifier: Apache-2.0
#include "transport/udp/udp.hpp"

#include "transport/ip/host.hpp"
#include "transport/ip/settings.hpp"
#include "transport/open_socket.hpp"
#include "transport/udp/address.hpp"

#include <algorithm>
#include <boost/asio/generic/datagram_protocol.hpp>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <utility>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;
namespace ip = asio::ip;
using generic_socket = asio::generic::datagram_protocol::socket;
using generic_endpoint = asio::generic::datagram_protocol::endpoint;

constexpr int most_hops = 255;

error_code last_error()
{
    return {errno, boost::system::system_category()};
}

datagram_peer to_peer(const ip::udp::endpoint& endpoint)
{
    datagram_peer peer;
    peer.bytes = static_cast<socklen_t>(endpoint.size());
    std::memcpy(&peer.address, endpoint.data(), endpoint.size());
    return peer;
}

ip::udp::endpoint to_udp(const datagram_peer& peer)
{
    ip::udp::endpoint endpoint;
    std::memcpy(endpoint.data(), &peer.address,
                std::min<std::size_t>(peer.bytes, endpoint.capacity()));
    return endpoint;
}

class udp_socket final : public datagram_socket {
public:
    udp_socket(generic_socket socket, bool ipv6, std::string endpoint,
               const ip::udp::endpoint* target)
        : socket_(std::move(socket)),
          fd_(socket_.native_handle()),
          ipv6_(ipv6),
          endpoint_(std::move(endpoint))
    {
        // The kernel's connect() would have answers of the network to one datagram fail the next.
        if (target)
            target_ = to_peer(*target);
    }

    int receive(std::span<std::byte> buffer, datagram& out) noexcept override
    {
        iovec space{buffer.data(), buffer.size()};
        msghdr message{};
        message.msg_name = &out.from.address;
        message.msg_namelen = sizeof out.from.address;
        message.msg_iov = &space;
        message.msg_iovlen = 1;
        const ssize_t bytes = ::recvmsg(fd_, &message, MSG_DONTWAIT);
        if (bytes < 0)
            return errno;
        out.content = buffer.first(static_cast<std::size_t>(bytes));
        out.truncated = (message.msg_flags & MSG_TRUNC) != 0;
        out.from.bytes = message.msg_namelen;
        return 0;
    }

    int send(std::span<const iovec> pieces, const datagram_peer* to) noexcept override
    {
        const datagram_peer& peer = to ? *to : target_;
        msghdr message{};
        message.msg_name = const_cast<sockaddr_storage*>(&peer.address);
        message.msg_namelen = peer.bytes;
        message.msg_iov = const_cast<iovec*>(pieces.data());
        message.msg_iovlen = pieces.size();
        return ::sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
    }

    void async_wait(direction which, wait_handler handler) override
    {
        socket_.async_wait(which == direction::read ? generic_socket::wait_read
                                                    : generic_socket::wait_write,
                           std::move(handler));
    }

    void close() noexcept override
    {
        error_code ignored;
        socket_.close(ignored);
        fd_ = -1;
    }

    const std::string& endpoint() const noexcept override { return endpoint_; }

    std::optional<datagram_peer> parse_peer(std::string_view text) const override
    {
        const auto parts = ip_host::split(text);
        if (!parts)
            return std::nullopt;
        const auto port = ip_host::parse_port(parts->port);
        auto address = ip_host::literal(parts->host);
        if (!port || *port == 0 || !address)
            return std::nullopt;
        if (ipv6_ && address->is_v4())
            address = ip::make_address_v6(ip::v4_mapped, address->to_v4());
        if (address->is_v6() != ipv6_)
            return std::nullopt;
        return to_peer({*address, *port});
    }

    std::string peer_text(const datagram_peer& peer) const override
    {
        const auto endpoint = to_udp(peer);
        return ip_host::text(ip_host::unmapped(endpoint.address()), endpoint.port());
    }

private:
    generic_socket socket_;
    int fd_;
    const bool ipv6_;
    const std::string endpoint_;
    datagram_peer target_;
};

template <class Value>
error_code set(int fd, int level, int name, const Value& value)
{
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0 ? error_code() : last_error();
}

/// How what is sent to groups leaves: on which interface, how far, and whether it comes back.
error_code prepare_sending(int fd, const udp_address::parsed& address, const options& settings)
{
    const int hops = std::min(settings.multicast_hops, most_hops);
    const int loop = settings.multicast_loop ? 1 : 0;
    const bool ipv6 = address.endpoint.address().is_v6();
    ip_settings::set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, hops);
    ip_settings::set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, loop);
    if (ipv6) {
        ip_settings::set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops);
        ip_settings::set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop);
    }
    const int index = static_cast<int>(address.interface_index);
    if (index == 0)
        return {};
    if (ipv6)
        return set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, index);
    ip_mreqn request{};
    request.imr_ifindex = index;
    return set(fd, IPPROTO_IP, IP_MULTICAST_IF, request);
}

error_code join(int fd, const udp_address::parsed& address)
{
    const auto group = address.endpoint.address();
    const int index = static_cast<int>(address.interface_index);
    if (group.is_v4()) {
        ip_settings::set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
        ip_mreqn request{};
        request.imr_multiaddr.s_addr = htonl(group.to_v4().to_uint());
        request.imr_ifindex = index;
        return set(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, request);
    }
    ip_settings::set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
    ipv6_mreq request{};
    const auto bytes = group.to_v6().to_bytes();
    std::ranges::copy(bytes, request.ipv6mr_multiaddr.s6_addr);
    request.ipv6mr_interface = address.interface_index;
    return set(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, request);
}

/// Where the kernel shall receive. Bound to the group a socket gets nothing that is sent to other
/// addresses; a group of one link can only be bound with its interface.
ip::udp::endpoint local_endpoint(const udp_address::parsed& address)
{
    auto endpoint = address.endpoint;
    if (!address.multicast() || endpoint.address().is_v4())
        return endpoint;
    if (address.interface_index == 0)
        return {ip::address_v6::any(), endpoint.port()};
    auto group = endpoint.address().to_v6();
    group.scope_id(address.interface_index);
    return {group, endpoint.port()};
}

error_code bind_to(generic_socket& socket, const udp_address::parsed& address)
{
    const int fd = socket.native_handle();
    // Many may listen to a group; an address of one's own is not to be shared.
    if (address.multicast()) {
        if (const auto error = set(fd, SOL_SOCKET, SO_REUSEADDR, int{1}))
            return error;
    }
    error_code error;
    socket.bind(generic_endpoint(local_endpoint(address)), error);
    if (!error && address.multicast())
        error = join(fd, address);
    return error;
}

error_code open(generic_socket& socket, const udp_address::parsed& address, const options& settings)
{
    error_code error;
    open_socket(socket, {address.endpoint.protocol().family(), IPPROTO_UDP}, error);
    if (!error)
        error = ip_settings::apply(socket.native_handle(), settings);
    if (!error)
        error = prepare_sending(socket.native_handle(), address, settings);
    return error;
}

std::string endpoint_text(std::string_view given, const udp_address::parsed& address,
                          std::uint16_t port)
{
    const auto parts = ip_host::split_local(given);
    std::string text = "udp://";
    if (parts.has_local)
        text += std::string(parts.local) + ";";
    return text + ip_host::text(address.endpoint.address(), port);
}

std::unique_ptr<datagram_socket> bind(asio::io_context& io, std::string_view given,
                                      const options& settings, error_code& error)
{
    const auto address = udp_address::to_bind(given, settings.ipv6, error);
    generic_socket socket(io);
    if (!error)
        error = open(socket, address, settings);
    if (!error)
        error = bind_to(socket, address);
    generic_endpoint local;
    if (!error)
        local = socket.local_endpoint(error);
    if (error)
        return nullptr;
    datagram_peer bound;
    bound.bytes = static_cast<socklen_t>(local.size());
    std::memcpy(&bound.address, local.data(), local.size());
    auto text = endpoint_text(given, address, to_udp(bound).port());
    return std::make_unique<udp_socket>(std::move(socket), address.endpoint.address().is_v6(),
                                        std::move(text), nullptr);
}

std::unique_ptr<datagram_socket> connect(asio::io_context& io, std::string_view given,
                                         const options& settings, error_code& error)
{
    const auto address = udp_address::to_connect(given, settings.ipv6, error);
    generic_socket socket(io);
    if (!error)
        error = open(socket, address, settings);
    if (error)
        return nullptr;
    return std::make_unique<udp_socket>(std::move(socket), address.endpoint.address().is_v6(),
                                        "udp://" + std::string(given), &address.endpoint);
}

} // namespace

const datagram_scheme udp{"udp", bind, connect};

} // namespace zlink::transport
