// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::transport {

/// A network: all addresses that agree with `address` in the first `prefix_bits` bits.
struct ip_network {
    boost::asio::ip::address address;
    unsigned prefix_bits = 0;
};

/// "a.b.c.d", "a.b.c.d/bits" or, with `ipv6`, the same of an IPv6 address, with or without
/// brackets. Nothing if it is none of these. Thread-safe.
std::optional<ip_network> parse_network(std::string_view text, bool ipv6);

/// Is `text` a network that ZMQ_TCP_ACCEPT_FILTER takes? Thread-safe.
inline bool is_accept_filter(std::string_view text, bool ipv6)
{
    return parse_network(text, ipv6).has_value();
}

/// IPv4 addresses in IPv6 form count as the IPv4 addresses they are.
bool contains(const ip_network& network, const boost::asio::ip::address& address);

/// Is `address` in one of the networks? No networks = yes.
bool filters_admit(const std::vector<std::string>& networks,
                   const boost::asio::ip::address& address);

} // namespace zlink::transport
