// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/ip/host.hpp"
#include "transport/scheme.hpp"
#include "transport/socket_stream.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace zlink::transport {

/// TCP: "tcp://host:port", when connecting also "tcp://source;host:port", through a SOCKS5 proxy if
/// the options name one.
extern const scheme tcp;

/// What transports over TCP are made of.
namespace tcp_parts {

/// The kind of TCP's sockets.
const socket_kind& kind() noexcept;
/// An endpoint of TCP, perhaps empty, with the name of another scheme.
std::string with_scheme(std::string_view name, const std::string& tcp_endpoint);
/// The kind of a transport above, which shows endpoints with its own scheme.
template <const scheme& above>
const socket_kind& kind_for()
{
    static const socket_kind made = [] {
        socket_kind own = kind();
        own.endpoint_text = [](const sockaddr* address, socklen_t bytes) {
            return with_scheme(above.name, kind().endpoint_text(address, bytes));
        };
        return own;
    }();
    return made;
}
/// As the functions of a `scheme`.
std::shared_ptr<connect_endpoint> parse_connect(std::string_view address,
                                                std::shared_ptr<const options> settings,
                                                const socket_kind& kind, error_code& error);
std::shared_ptr<bind_endpoint> parse_bind(std::string_view address,
                                          std::shared_ptr<const options> settings,
                                          const socket_kind& kind, error_code& error);
/// The host, without brackets, and port of a valid address to connect to.
ip_host::host_port peer_of(std::string_view address);

} // namespace tcp_parts

} // namespace zlink::transport
