// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/address.hpp"

#include "transport/ip/host.hpp"

#include <algorithm>

namespace zlink::transport::websocket {

std::optional<address> split(std::string_view text)
{
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos)
        return address{std::string(text)};
    const std::string_view path = text.substr(slash);
    const auto sendable = [](char c) { return c > ' ' && c <= '~' && c != '#'; };
    if (path.size() > most_path_bytes || !std::ranges::all_of(path, sendable))
        return std::nullopt;
    return address{std::string(text.substr(0, slash)), std::string(path)};
}

std::string host_field(std::string_view tcp, std::string_view default_port)
{
    const auto peer = ip_host::split(ip_host::split_local(tcp).remote);
    if (!peer)
        return {};
    std::string host = peer->host;
    if (host.find(':') != std::string::npos)
        host = '[' + host.substr(0, host.find('%')) + ']';
    return peer->port == default_port ? host : host + ':' + peer->port;
}

} // namespace zlink::transport::websocket
