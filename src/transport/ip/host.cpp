// SPDX-License-Identifier: Apache-2.0
#include "transport/ip/host.hpp"

#include <algorithm>
#include <charconv>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>

namespace zlink::transport::ip_host {
namespace {

namespace ip = boost::asio::ip;

std::optional<ip::address> from_sockaddr(const sockaddr* address)
{
    if (address && address->sa_family == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
        return ip::address_v4(ntohl(v4->sin_addr.s_addr));
    }
    if (address && address->sa_family == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
        ip::address_v6::bytes_type bytes;
        std::copy_n(v6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
        return ip::address_v6(bytes, v6->sin6_scope_id);
    }
    return std::nullopt;
}

bool fits(const ip::address& address, family wanted)
{
    return wanted == family::any || address.is_v6() == (wanted == family::v6);
}

std::optional<std::uint32_t> zone_index(const std::string& zone)
{
    if (zone.find(':') != std::string::npos)
        return std::nullopt; // the system would not look at what follows
    if (const unsigned index = ::if_nametoindex(zone.c_str()))
        return index;
    std::uint32_t number = 0;
    const auto [end, bad] = std::from_chars(zone.data(), zone.data() + zone.size(), number);
    char name[IF_NAMESIZE];
    if (bad != std::errc() || end != zone.data() + zone.size() || !::if_indextoname(number, name))
        return std::nullopt;
    return number;
}

std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> interfaces()
{
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0)
        list = nullptr;
    return {list, [](ifaddrs* first) {
                if (first)
                    ::freeifaddrs(first);
            }};
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

local_and_remote split_local(std::string_view text)
{
    const auto semicolon = text.rfind(';');
    if (semicolon == std::string_view::npos)
        return {false, {}, text};
    return {true, text.substr(0, semicolon), text.substr(semicolon + 1)};
}

std::optional<std::uint16_t> parse_port(std::string_view text)
{
    std::uint16_t value = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (bad != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<ip::address> literal(const std::string& host)
{
    boost::system::error_code error;
    const auto percent = host.find('%');
    if (percent == std::string::npos) {
        const auto address = ip::make_address(host, error);
        return error ? std::nullopt : std::optional(address);
    }
    auto address = ip::make_address_v6(host.substr(0, percent), error);
    const auto zone = zone_index(host.substr(percent + 1));
    if (error || !zone)
        return std::nullopt;
    address.scope_id(*zone);
    return address;
}

std::optional<ip::address> literal(const std::string& host, bool ipv6)
{
    const auto address = literal(host);
    return address && !ipv6 ? std::optional(unmapped(*address)) : address;
}

std::optional<ip::address> interface_address(const std::string& name, family wanted)
{
    std::optional<ip::address> found;
    const auto list = interfaces();
    for (const ifaddrs* entry = list.get(); entry; entry = entry->ifa_next) {
        if (name != entry->ifa_name)
            continue;
        const auto address = from_sockaddr(entry->ifa_addr);
        if (address && fits(*address, wanted) && (!found || (found->is_v4() && address->is_v6())))
            found = address;
    }
    return found;
}

std::optional<unsigned> interface_index(const std::string& name_or_address)
{
    if (const unsigned index = ::if_nametoindex(name_or_address.c_str()))
        return index;
    const auto wanted = literal(name_or_address);
    const auto list = interfaces();
    for (const ifaddrs* entry = list.get(); entry && wanted; entry = entry->ifa_next)
        if (from_sockaddr(entry->ifa_addr) == wanted)
            return ::if_nametoindex(entry->ifa_name);
    return std::nullopt;
}

std::optional<ip::address> resolve(const std::string& host, family wanted)
{
    addrinfo hints{};
    hints.ai_family = wanted == family::v4 ? AF_INET : wanted == family::v6 ? AF_INET6 : AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0)
        return std::nullopt;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
    return list ? from_sockaddr(list->ai_addr) : std::nullopt;
}

ip::address unmapped(const ip::address& address)
{
    if (address.is_v6() && address.to_v6().is_v4_mapped())
        return ip::make_address_v4(ip::v4_mapped, address.to_v6());
    return address;
}

std::string text(const ip::address& address, std::uint16_t port)
{
    const std::string host = address.to_string();
    return (address.is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

} // namespace zlink::transport::ip_host
