// SPDX-License-Identifier: Apache-2.0
#include "transport/wss/wss.hpp"

#include "transport/tcp/tcp.hpp"
#include "transport/tls/context.hpp"
#include "transport/tls/endpoints.hpp"
#include "transport/websocket/address.hpp"
#include "transport/websocket/websocket.hpp"

#include <cerrno>
#include <utility>

namespace zlink::transport {
namespace {

using tls_parts::context_source;
using tls_parts::side;

constexpr std::string_view default_port = "443";

std::string canonical_below(std::string_view tcp_address, const options& settings)
{
    return tcp_parts::with_scheme(wss.name, tcp.canonical(tcp_address, settings));
}

std::shared_ptr<connect_endpoint>
parse_connect(std::string_view text, std::shared_ptr<const options> settings, error_code& error)
{
    auto address = websocket::split(text);
    if (!address) {
        error = {EINVAL, boost::system::system_category()};
        return nullptr;
    }
    auto below =
        tcp_parts::parse_connect(address->tcp, settings, tcp_parts::kind_for<wss>(), error);
    if (error)
        return nullptr;
    auto contexts = context_source::make(side::client, *settings->tls,
                                         tcp_parts::peer_of(address->tcp).host, error);
    if (error)
        return nullptr;
    return websocket::over(tls_parts::over(std::move(below), std::move(contexts)),
                           {websocket::host_field(address->tcp, default_port),
                            std::move(address->path), settings->origins->own});
}

std::shared_ptr<bind_endpoint>
parse_bind(std::string_view text, std::shared_ptr<const options> settings, error_code& error)
{
    auto address = websocket::split(text);
    if (!address) {
        error = {EINVAL, boost::system::system_category()};
        return nullptr;
    }
    auto below = tcp_parts::parse_bind(address->tcp, settings, tcp_parts::kind_for<wss>(), error);
    if (error)
        return nullptr;
    auto contexts = context_source::make(side::server, *settings->tls, {}, error);
    if (error)
        return nullptr;
    return websocket::over(
        tls_parts::over(std::move(below), std::move(contexts)),
        {canonical_below(address->tcp, *settings), tcp_parts::kind_for<wss>(), settings},
        std::move(address->path));
}

std::string canonical(std::string_view text, const options& settings)
{
    const auto address = websocket::split(text);
    if (!address)
        return {};
    const std::string endpoint = canonical_below(address->tcp, settings);
    return endpoint.empty() ? endpoint : endpoint + address->path;
}

} // namespace

const scheme wss{"wss", parse_connect, parse_bind, canonical};

} // namespace zlink::transport
