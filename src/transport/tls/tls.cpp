// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/tls.hpp"

#include "transport/tcp/tcp.hpp"
#include "transport/tls/context.hpp"
#include "transport/tls/endpoints.hpp"

#include <utility>

namespace zlink::transport {
namespace {

using tls_parts::context_source;
using tls_parts::side;

std::shared_ptr<connect_endpoint>
parse_connect(std::string_view address, std::shared_ptr<const options> settings, error_code& error)
{
    auto below = tcp_parts::parse_connect(address, settings, tcp_parts::kind_for<tls>(), error);
    if (error)
        return nullptr;
    auto contexts =
        context_source::make(side::client, *settings->tls, tcp_parts::peer_of(address).host, error);
    return error ? nullptr : tls_parts::over(std::move(below), std::move(contexts));
}

std::shared_ptr<bind_endpoint>
parse_bind(std::string_view address, std::shared_ptr<const options> settings, error_code& error)
{
    auto below = tcp_parts::parse_bind(address, settings, tcp_parts::kind_for<tls>(), error);
    if (error)
        return nullptr;
    auto contexts = context_source::make(side::server, *settings->tls, {}, error);
    return error ? nullptr : tls_parts::over(std::move(below), std::move(contexts));
}

std::string canonical(std::string_view address, const options& settings)
{
    return tcp_parts::with_scheme(tls.name, tcp.canonical(address, settings));
}

} // namespace

const scheme tls{"tls", parse_connect, parse_bind, canonical};
const scheme tls_tcp{"tls+tcp", parse_connect, parse_bind, canonical};

} // namespace zlink::transport
