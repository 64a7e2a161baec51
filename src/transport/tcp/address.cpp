// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/address.hpp"

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <charconv>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>

namespace zlink::transport::tcp_address {
namespace {

namespace ip = boost::asio::ip;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

std::optional<std::uint16_t> parse_port(std::string_view text)
{
    unsigned value = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || bad != std::errc() || end != text.data() + text.size() || value > 65535)
        return std::nullopt;
    return static_cast<std::uint16_t>(value);
}

std::optional<ip::address> literal(const std::string& host)
{
    error_code error;
    const auto address = ip::make_address(host, error);
    if (error)
        return std::nullopt;
    return address;
}

std::optional<ip::address> interface_address(const std::string& name, bool ipv6)
{
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0)
        return std::nullopt;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
    std::optional<ip::address> found;
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || name != entry->ifa_name)
            continue;
        if (entry->ifa_addr->sa_family == AF_INET && !found) {
            const auto* v4 = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
            found = ip::address_v4(ntohl(v4->sin_addr.s_addr));
        } else if (entry->ifa_addr->sa_family == AF_INET6 && ipv6) {
            const auto* v6 = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
            ip::address_v6::bytes_type bytes;
            std::copy_n(v6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
            found = ip::address_v6(bytes, v6->sin6_scope_id);
        }
    }
    return found;
}

std::optional<ip::address> host_address(const std::string& host, bool ipv6)
{
    addrinfo hints{};
    hints.ai_family = ipv6 ? AF_UNSPEC : AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0)
        return std::nullopt;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
    ip::tcp::endpoint endpoint;
    if (!list || list->ai_addrlen > endpoint.capacity())
        return std::nullopt;
    std::copy_n(reinterpret_cast<const std::byte*>(list->ai_addr), list->ai_addrlen,
                reinterpret_cast<std::byte*>(endpoint.data()));
    return endpoint.address();
}

ip::address adapt(const ip::address& address, bool ipv6)
{
    if (ipv6 && address.is_v4())
        return ip::make_address_v6(ip::v4_mapped, address.to_v4());
    return address;
}

} // namespace

std::optional<host_port> split(std::string_view text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    std::string_view host = text.substr(0, colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    return host_port{std::string(host), std::string(text.substr(colon + 1))};
}

connect_parts split_source(std::string_view address)
{
    const auto semicolon = address.rfind(';');
    if (semicolon == std::string_view::npos)
        return {{}, address};
    return {address.substr(0, semicolon), address.substr(semicolon + 1)};
}

error_code check_connect(std::string_view address)
{
    const auto parts = split_source(address);
    const auto target = split(parts.target);
    const auto invalid = system_error(EINVAL);
    if (!target || target->host.empty() || target->host == "*")
        return invalid;
    const auto port = parse_port(target->port);
    if (!port || *port == 0)
        return invalid;
    if (target->host.front() == '_' || target->host.find_first_of(" /\t") != std::string::npos)
        return invalid;
    return {};
}

ip::tcp::endpoint resolve_local(std::string_view text, bool ipv6, error_code& error)
{
    const auto parts = split(text);
    error = system_error(EINVAL);
    if (!parts || parts->host.empty())
        return {};
    std::uint16_t port = 0;
    if (parts->port != "*") {
        const auto number = parse_port(parts->port);
        if (!number)
            return {};
        port = *number;
    }
    error = {};
    if (parts->host == "*")
        return {ipv6 ? ip::address(ip::address_v6::any()) : ip::address(ip::address_v4::any()),
                port};
    if (const auto address = literal(parts->host)) {
        if (address->is_v6() && !ipv6)
            error = system_error(ENODEV);
        return {adapt(*address, ipv6), port};
    }
    if (const auto address = interface_address(parts->host, ipv6))
        return {adapt(*address, ipv6), port};
    if (const auto address = host_address(parts->host, ipv6))
        return {adapt(*address, ipv6), port};
    error = system_error(ENODEV);
    return {};
}

std::string endpoint_text(const ip::tcp::endpoint& endpoint)
{
    const std::string host = endpoint.address().to_string();
    const std::string port = std::to_string(endpoint.port());
    return endpoint.address().is_v6() ? "tcp://[" + host + "]:" + port
                                      : "tcp://" + host + ":" + port;
}

} // namespace zlink::transport::tcp_address
