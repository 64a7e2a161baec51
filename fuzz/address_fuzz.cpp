// SPDX-License-Identifier: Apache-2.0
// Input: one byte with ZMQ_IPV6 (bit 0); then the text of an endpoint, an address or a network,
// which is read as each of them. What was read, printed and read again is the same.

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <string>
#include <string_view>

#include "core/socket/endpoint.hpp"
#include "fuzz_check.hpp"
#include "transport/ip/host.hpp"
#include "transport/ipc/ipc.hpp"
#include "transport/options.hpp"
#include "transport/tcp/accept_filter.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/udp/address.hpp"
#include "transport/websocket/address.hpp"
#include "transport/websocket/websocket.hpp"

// Names are looked up here and nowhere else: one is known.
extern "C" int getaddrinfo(const char* node, const char*, const addrinfo* hints, addrinfo** result)
{
    if (!node || std::strcmp(node, "host.test") != 0 || (hints && hints->ai_family == AF_INET6))
        return EAI_NONAME;
    static sockaddr_in address{};
    static addrinfo found{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0xc0000201);
    found.ai_family = AF_INET;
    found.ai_addr = reinterpret_cast<sockaddr*>(&address);
    found.ai_addrlen = sizeof address;
    *result = &found;
    return 0;
}

extern "C" void freeaddrinfo(addrinfo*) {}

namespace {

using namespace zlink;
using namespace zlink::transport;
namespace ip = boost::asio::ip;

constexpr std::string_view tcp_prefix = "tcp://";

void check_endpoint(const std::string& text)
{
    core::endpoint_text parts;
    if (core::parse_endpoint(text, parts) != 0) {
        const auto at = text.find("://");
        fuzz_check(at == std::string::npos || at == 0 || at + 3 == text.size());
        return;
    }
    fuzz_check(!parts.scheme.empty() && !parts.address.empty());
    fuzz_check(std::string(parts.scheme) + "://" + std::string(parts.address) == text);
    fuzz_check(parts.scheme.find("://") == std::string_view::npos);
}

/// Reads what was printed for `endpoint` again.
ip::tcp::endpoint read_again(const ip::tcp::endpoint& endpoint, bool ipv6)
{
    const std::string text = tcp_address::endpoint_text(endpoint);
    fuzz_check(text.starts_with(tcp_prefix));
    error_code error;
    const auto again = tcp_address::resolve_local(text.substr(tcp_prefix.size()), ipv6, error);
    fuzz_check(!error);
    return again;
}

void check_tcp(const std::string& text, bool ipv6)
{
    error_code error;
    const auto local = tcp_address::resolve_local(text, ipv6, error);
    if (error) {
        fuzz_check(error.value() == EINVAL || error.value() == ENODEV);
        fuzz_check(local == ip::tcp::endpoint());
    } else {
        fuzz_check(local.address().is_v6() == ipv6);
        fuzz_check(read_again(local, ipv6) == local);
    }

    const auto bound = tcp_address::resolve_bound(text, ipv6);
    if (bound.port() != 0) {
        // Without ZMQ_IPV6 an IPv6 address cannot be bound, but has its name.
        const bool is_v6 = bound.address().is_v6();
        fuzz_check(is_v6 || !ipv6);
        fuzz_check(read_again(bound, is_v6) == bound);
        fuzz_check(!error || is_v6 != ipv6 || text.find(';') != std::string::npos);
        fuzz_check(error || bound == local);
    }
    const auto parts = ip_host::split(text);
    if (!error && local.port() != 0 && ip_host::literal(parts->host))
        fuzz_check(bound == local);

    if (!tcp_address::check_connect(text)) {
        const auto target = ip_host::split(ip_host::split_local(text).remote);
        fuzz_check(target && !target->host.empty());
        fuzz_check(ip_host::parse_port(target->port).value_or(0) != 0);
    }

    bool is_source = false;
    for (const auto& to :
         {ip::address(ip::address_v4::loopback()), ip::address(ip::address_v6::loopback())}) {
        error_code failure;
        const ip::tcp::endpoint target(to, 1);
        const auto source = tcp_address::resolve_source(text, target, failure);
        if (failure) {
            fuzz_check(source == ip::tcp::endpoint());
            continue;
        }
        is_source = true;
        fuzz_check(source.address().is_v6() == to.is_v6());
        const auto printed = tcp_address::endpoint_text(source).substr(tcp_prefix.size());
        fuzz_check(tcp_address::resolve_source(printed, target, failure) == source && !failure);
    }
    fuzz_check(is_source == !tcp_address::check_source(text));
}

void check_udp(const std::string& text, bool ipv6)
{
    for (const auto read : {udp_address::to_bind, udp_address::to_connect}) {
        error_code error;
        const auto found = read(text, ipv6, error);
        if (error) {
            fuzz_check(error.value() == EINVAL || error.value() == ENODEV);
            continue;
        }
        fuzz_check(ipv6 || found.endpoint.address().is_v4());
        fuzz_check(found.multicast() || found.interface_index == 0);
        fuzz_check(read != udp_address::to_connect ||
                   (found.endpoint.port() != 0 && !found.endpoint.address().is_unspecified()));
        const auto again =
            read(ip_host::text(found.endpoint.address(), found.endpoint.port()), ipv6, error);
        fuzz_check(!error && again.endpoint == found.endpoint);
    }
}

void check_websocket(const std::string& text)
{
    const auto parts = websocket::split(text);
    if (!parts)
        return;
    fuzz_check(parts->tcp.find('/') == std::string::npos && parts->path.starts_with('/'));
    fuzz_check(parts->path.size() <= std::max<std::size_t>(websocket::most_path_bytes, 1));
    const std::string whole = parts->tcp + parts->path;
    fuzz_check(whole == text || whole == text + "/");
    const auto again = websocket::split(whole);
    fuzz_check(again && again->tcp == parts->tcp && again->path == parts->path);
    // Both go into a request as they are.
    const auto fits = [](char c) { return c > ' ' && c <= '~'; };
    fuzz_check(std::ranges::all_of(parts->path, fits));
    if (!tcp_address::check_connect(parts->tcp)) {
        const std::string field = websocket::host_field(parts->tcp, "80");
        fuzz_check(!field.empty() && std::ranges::all_of(field, fits));
        fuzz_check(field.find('%') == std::string::npos || field.find('[') == std::string::npos);
    }
}

void check_network(const std::string& text, bool ipv6)
{
    const auto net = parse_network(text, ipv6);
    if (!net)
        return;
    fuzz_check(ipv6 || net->address.is_v4());
    fuzz_check(net->prefix_bits <= (net->address.is_v4() ? 32u : 128u));
    fuzz_check(contains(*net, net->address));
    const auto again =
        parse_network(net->address.to_string() + "/" + std::to_string(net->prefix_bits), ipv6);
    fuzz_check(again && again->address == net->address && again->prefix_bits == net->prefix_bits);
    fuzz_check(filters_admit({text}, net->address));
}

void check_schemes(const std::string& text, bool ipv6)
{
    auto settings = std::make_shared<options>();
    settings->ipv6 = ipv6;
    for (const scheme* const each : {&tcp, &ipc, &ws}) {
        error_code error;
        fuzz_check((each->parse_connect(text, settings, error) != nullptr) == !error);
        error = {};
        fuzz_check((each->parse_bind(text, settings, error) != nullptr) == !error);
        const std::string name = each->canonical(text, *settings);
        core::endpoint_text parts;
        if (name.empty() || (text.empty() && each == &ipc))
            continue;
        fuzz_check(core::parse_endpoint(name, parts) == 0 && parts.scheme == each->name);
        fuzz_check(each->canonical(parts.address, *settings) == name);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const bool ipv6 = (data[0] & 1) != 0;
    std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
    if (const auto end = text.find('\0'); end != std::string::npos)
        text.resize(end); // as the C API takes it
    check_endpoint(text);
    core::endpoint_text parts;
    if (core::parse_endpoint(text, parts) == 0)
        text = std::string(parts.address);
    check_tcp(text, ipv6);
    check_udp(text, ipv6);
    check_websocket(text);
    check_network(text, ipv6);
    check_schemes(text, ipv6);
    return 0;
}
