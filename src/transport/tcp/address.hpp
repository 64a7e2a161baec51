// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/stream.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace zlink::transport::tcp_address {

/// "host:port", split; brackets of IPv6 literals are removed.
struct host_port {
    std::string host;
    std::string port;
};

/// Splits at the last colon; nothing without a colon.
std::optional<host_port> split(std::string_view text);

/// The target part and, before a ';', the local source part of a connect address.
struct connect_parts {
    std::string_view source; ///< empty = any
    std::string_view target;
};
connect_parts split_source(std::string_view address);

/// Is `address` something to connect to? EINVAL if not; host names are not resolved.
error_code check_connect(std::string_view address);

/// A local address to bind: "*", literals, interface names, host names; port "*" or 0 = any.
/// Blocks for host names. EINVAL bad form, ENODEV unknown name or interface.
boost::asio::ip::tcp::endpoint resolve_local(std::string_view address, bool ipv6,
                                             error_code& error);

/// "tcp://ip:port", IPv6 in brackets.
std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace zlink::transport::tcp_address
