// SPDX-License-Identifier: Apache-2.0
#include "transport/udp/address.hpp"

#include "transport/ip/host.hpp"

#include <cerrno>

namespace zlink::transport::udp_address {
namespace {

namespace ip = boost::asio::ip;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

ip_host::family wanted_family(bool ipv6)
{
    return ipv6 ? ip_host::family::any : ip_host::family::v4;
}

/// Of a multicast address the zone is an interface as well.
unsigned zone_of(const ip::address& address)
{
    return address.is_v6() ? static_cast<unsigned>(address.to_v6().scope_id()) : 0;
}

parsed finish(const ip_host::local_and_remote& parts, const ip::address& address,
              std::uint16_t port, error_code& error)
{
    parsed result{{address, port}, 0};
    if (result.multicast())
        result.interface_index = zone_of(address);
    if (!parts.has_local)
        return result;
    const auto index = parts.local == "*" ? 0u // the system chooses
                                          : ip_host::interface_index(std::string(parts.local));
    if (!index)
        error = system_error(ENODEV);
    else if (!result.multicast())
        error = system_error(EINVAL);
    else
        result.interface_index = *index;
    return result;
}

} // namespace

parsed to_bind(std::string_view text, bool ipv6, error_code& error)
{
    const auto parts = ip_host::split_local(text);
    const auto target = ip_host::split(parts.remote);
    if (!target) {
        error = system_error(EINVAL);
        return {};
    }
    const auto port =
        target->port == "*" ? std::optional<std::uint16_t>(0) : ip_host::parse_port(target->port);
    if (!port) {
        error = system_error(EINVAL);
        return {};
    }
    if (target->host == "*")
        return finish(
            parts, ipv6 ? ip::address(ip::address_v6::any()) : ip::address(ip::address_v4::any()),
            *port, error);
    auto address = ip_host::literal(target->host, ipv6);
    if (!address)
        address = ip_host::interface_address(target->host, wanted_family(ipv6));
    if (!address && !target->host.empty())
        address = ip_host::resolve(target->host, wanted_family(ipv6));
    if (!address || (address->is_v6() && !ipv6)) {
        error = system_error(ENODEV);
        return {};
    }
    return finish(parts, *address, *port, error);
}

parsed to_connect(std::string_view text, bool ipv6, error_code& error)
{
    const auto parts = ip_host::split_local(text);
    const auto target = ip_host::split(parts.remote);
    const std::uint16_t port = target ? ip_host::parse_port(target->port).value_or(0) : 0;
    auto address = target ? ip_host::literal(target->host, ipv6) : std::nullopt;
    if (!address && port != 0 && !target->host.empty())
        address = ip_host::resolve(target->host, wanted_family(ipv6));
    if (port == 0 || !address || address->is_unspecified() || (address->is_v6() && !ipv6)) {
        error = system_error(EINVAL);
        return {};
    }
    return finish(parts, *address, port, error);
}

} // namespace zlink::transport::udp_address
