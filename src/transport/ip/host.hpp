// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Hosts and ports as they are written in the addresses of IP transports.
/// Thread safety: pure functions, but for what the system is asked for.
namespace zlink::transport::ip_host {

/// "host:port", split; brackets of IPv6 literals are removed.
struct host_port {
    std::string host;
    std::string port;
};

/// Splits at the last colon; nothing without a colon.
std::optional<host_port> split(std::string_view text);

/// "interface;rest"; an empty `interface` and all of the text if there is no ';'.
struct local_and_remote {
    bool has_local = false;
    std::string_view local;
    std::string_view remote;
};
local_and_remote split_local(std::string_view text);

/// A decimal number of at most 65535.
std::optional<std::uint16_t> parse_port(std::string_view text);

/// An IPv4 or IPv6 address in numbers, the latter perhaps with a zone ("fe80::1%eth0"), which must
/// be an interface of this machine.
std::optional<boost::asio::ip::address> literal(const std::string& host);
/// The same for a socket that serves IPv6 or does not: if not, an IPv4-mapped address is the IPv4
/// address it stands for.
std::optional<boost::asio::ip::address> literal(const std::string& host, bool ipv6);

enum class family : unsigned char { v4, v6, any };

/// The first address of a network interface; of both families IPv6 is preferred.
std::optional<boost::asio::ip::address> interface_address(const std::string& name, family wanted);

/// The number of the interface of that name, or that has this literal address.
std::optional<unsigned> interface_index(const std::string& name_or_address);

/// The first address of a host name. Blocks while it is looked up.
std::optional<boost::asio::ip::address> resolve(const std::string& host, family wanted);

/// The IPv4 address that an IPv6 socket shows as an IPv4-mapped one; others as they are.
boost::asio::ip::address unmapped(const boost::asio::ip::address& address);

/// "1.2.3.4:5" or "[::1]:5".
std::string text(const boost::asio::ip::address& address, std::uint16_t port);

} // namespace zlink::transport::ip_host
