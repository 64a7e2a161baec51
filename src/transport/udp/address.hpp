// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/stream.hpp"

#include <boost/asio/ip/udp.hpp>
#include <string_view>

namespace zlink::transport::udp_address {

/// "interface;host:port" as a udp endpoint has it.
struct parsed {
    boost::asio::ip::udp::endpoint endpoint;
    unsigned interface_index = 0; ///< 0 = none was named

    bool multicast() const { return endpoint.address().is_multicast(); }
};

/// What to bind: "*", a literal, the name of an interface, a host name or, perhaps after the name
/// or address of an interface, a multicast address; port "*" or 0 = any. Blocks for host names.
/// EINVAL bad form, or an interface for an address that is not multicast; ENODEV unknown name or
/// interface, or an IPv6 address without `ipv6`.
parsed to_bind(std::string_view address, bool ipv6, error_code& error);

/// What to send to: a literal or a host name with a port, after an interface as above. EINVAL for
/// all that is none, ENODEV for an unknown interface. Blocks for host names.
parsed to_connect(std::string_view address, bool ipv6, error_code& error);

} // namespace zlink::transport::udp_address
