// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/address.hpp"

#include "transport/ip/host.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

namespace zlink::transport::tcp_address {
namespace {

namespace ip = boost::asio::ip;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

ip::address any_address(bool ipv6)
{
    return ipv6 ? ip::address(ip::address_v6::any()) : ip::address(ip::address_v4::any());
}

ip::address mapped(const ip::address& address, bool ipv6)
{
    if (ipv6 && address.is_v4())
        return ip::make_address_v6(ip::v4_mapped, address.to_v4());
    return address;
}

/// "host:port" of this machine, the port a number or "*".
std::optional<std::uint16_t> split_local_port(std::string_view text, std::string& host)
{
    auto parts = ip_host::split(text);
    if (!parts)
        return std::nullopt;
    host = std::move(parts->host);
    return parts->port == "*" ? std::uint16_t{0} : ip_host::parse_port(parts->port);
}

bool alphanumeric(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Is it made of what names, literals and zones are made of? An IPv6 literal without brackets may
/// begin with its colons.
bool may_be_host(std::string_view host)
{
    const auto allowed = [](char c) {
        return alphanumeric(c) || std::string_view(".:-_%").find(c) != std::string_view::npos;
    };
    return !host.empty() && (alphanumeric(host.front()) || host.front() == ':') &&
           std::all_of(host.begin(), host.end(), allowed);
}

/// With or without a port, whose form is seen to when the source is used.
bool may_be_source(std::string_view source)
{
    const auto parts = ip_host::split(source);
    const std::string_view host = parts ? std::string_view(parts->host) : source;
    return host == "*" || may_be_host(host) || (host.empty() && !source.empty());
}

} // namespace

error_code check_connect(std::string_view address)
{
    const auto parts = ip_host::split_local(address);
    const auto target = ip_host::split(parts.remote);
    const auto invalid = system_error(EINVAL);
    if (!target || !may_be_host(target->host) || (parts.has_local && !may_be_source(parts.local)))
        return invalid;
    const auto port = ip_host::parse_port(target->port);
    return port && *port != 0 ? error_code() : invalid;
}

ip::tcp::endpoint resolve_local(std::string_view text, bool ipv6, error_code& error)
{
    std::string host;
    const auto port = split_local_port(text, host);
    if (!port) {
        error = system_error(EINVAL);
        return {};
    }
    if (host == "*")
        return {any_address(ipv6), *port};
    const auto family = ipv6 ? ip_host::family::any : ip_host::family::v4;
    auto address = ip_host::literal(host, ipv6);
    if (!address)
        address = ip_host::interface_address(host, family);
    if (!address && !host.empty())
        address = ip_host::resolve(host, family);
    if (!address || (address->is_v6() && !ipv6)) {
        error = system_error(ENODEV);
        return {};
    }
    return {mapped(*address, ipv6), *port};
}

ip::tcp::endpoint resolve_bound(std::string_view text, bool ipv6)
{
    std::string host;
    const auto port = split_local_port(ip_host::split_local(text).remote, host);
    if (!port || *port == 0 || !may_be_host(host))
        return {};
    auto address = ip_host::literal(host, ipv6);
    if (!address && !ip_host::interface_address(host, ip_host::family::any))
        address = ip_host::resolve(host, ipv6 ? ip_host::family::any : ip_host::family::v4);
    return address ? ip::tcp::endpoint(mapped(*address, ipv6), *port) : ip::tcp::endpoint();
}

error_code check_source(std::string_view source)
{
    std::string host;
    if (!split_local_port(source, host))
        return system_error(EINVAL);
    const bool known = host == "*" || ip_host::literal(host) ||
                       ip_host::interface_address(host, ip_host::family::any);
    return known ? error_code() : system_error(ENODEV);
}

ip::tcp::endpoint resolve_source(std::string_view source, const ip::tcp::endpoint& target,
                                 error_code& error)
{
    std::string host;
    const auto port = split_local_port(source, host);
    if (!port) {
        error = system_error(EINVAL);
        return {};
    }
    const bool ipv6 = target.address().is_v6();
    if (host == "*")
        return {any_address(ipv6), *port};
    auto address = ip_host::literal(host, ipv6);
    if (!address)
        address =
            ip_host::interface_address(host, ipv6 ? ip_host::family::v6 : ip_host::family::v4);
    if (!address)
        error = system_error(ENODEV);
    else if (address->is_v6() != ipv6)
        error = system_error(EADDRNOTAVAIL);
    return error ? ip::tcp::endpoint() : ip::tcp::endpoint(*address, *port);
}

std::string endpoint_text(const ip::tcp::endpoint& endpoint)
{
    return "tcp://" + ip_host::text(endpoint.address(), endpoint.port());
}

} // namespace zlink::transport::tcp_address
