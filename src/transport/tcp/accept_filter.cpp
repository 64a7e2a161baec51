// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/accept_filter.hpp"

#include "transport/ip/host.hpp"

#include <algorithm>
#include <cstddef>

namespace zlink::transport {
namespace {

namespace ip = boost::asio::ip;

template <class Bytes>
bool same_prefix(const Bytes& a, const Bytes& b, unsigned bits)
{
    const std::size_t whole = bits / 8;
    if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin()))
        return false;
    const unsigned rest = bits % 8;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

} // namespace

std::optional<ip_network> parse_network(std::string_view text, bool ipv6)
{
    const auto slash = text.find('/');
    std::string_view host = text.substr(0, slash);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    const auto address = ip_host::literal(std::string(host));
    if (!address || (address->is_v6() && !ipv6))
        return std::nullopt;
    const unsigned most = address->is_v6() ? 128 : 32;
    if (slash == std::string_view::npos)
        return ip_network{*address, most};
    const auto bits = ip_host::parse_port(text.substr(slash + 1));
    if (!bits || *bits > most)
        return std::nullopt;
    return ip_network{*address, *bits};
}

bool contains(const ip_network& net, const ip::address& address)
{
    const ip::address peer = net.address.is_v4() ? ip_host::unmapped(address) : address;
    if (net.address.is_v4() != peer.is_v4())
        return false;
    if (peer.is_v4())
        return same_prefix(net.address.to_v4().to_bytes(), peer.to_v4().to_bytes(),
                           net.prefix_bits);
    return same_prefix(net.address.to_v6().to_bytes(), peer.to_v6().to_bytes(), net.prefix_bits);
}

bool filters_admit(const std::vector<std::string>& networks, const ip::address& address)
{
    return networks.empty() || std::ranges::any_of(networks, [&](const std::string& text) {
               const auto net = parse_network(text, true);
               return net && contains(*net, address);
           });
}

} // namespace zlink::transport
