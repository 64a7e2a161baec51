// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/stream.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

namespace zlink::transport::tcp_address {

/// Is `address` ("host:port", perhaps after "source:port;") something to connect to? EINVAL if not;
/// neither names nor the source are looked up.
error_code check_connect(std::string_view address);

/// A local address to bind: "*", literals, interface names, host names; port "*" or 0 = any. With
/// `ipv6` all are IPv6, IPv4 addresses in their mapped form.
/// Blocks for host names. EINVAL bad form, ENODEV unknown name or interface.
boost::asio::ip::tcp::endpoint resolve_local(std::string_view address, bool ipv6,
                                             error_code& error);

/// What resolve_local() gives for a literal or the name of a host; a source before ';' is left out.
/// For "*", an interface or any port none is given: an endpoint with port 0.
/// Blocks for host names.
boost::asio::ip::tcp::endpoint resolve_bound(std::string_view address, bool ipv6);

/// Is this a source that can be looked up here: "*", a literal or the name of an interface, and a
/// port? EINVAL bad form, ENODEV unknown interface.
error_code check_source(std::string_view source);

/// The source of a connection to `target`: "*", a literal or the name of an interface, of the same
/// family. EINVAL bad form, ENODEV unknown interface, EADDRNOTAVAIL another family.
boost::asio::ip::tcp::endpoint resolve_source(std::string_view source,
                                              const boost::asio::ip::tcp::endpoint& target,
                                              error_code& error);

/// "tcp://ip:port", IPv6 in brackets.
std::string endpoint_text(const boost::asio::ip::tcp::endpoint& endpoint);

} // namespace zlink::transport::tcp_address
