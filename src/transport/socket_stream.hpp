// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/system/owned_descriptor.hpp"
#include "transport/scheme.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <initializer_list>

namespace zlink::transport {

using generic_endpoint = boost::asio::generic::stream_protocol::endpoint;
using generic_acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

/// What differs between the transports that are kernel stream sockets.
struct socket_kind {
    /// Sets options on a fresh socket, before bind or connect.
    error_code (*prepare)(int fd, const options& settings);
    /// Sets options on a connected socket.
    void (*tune)(int fd, const options& settings);
    /// Endpoint with scheme for a socket address.
    std::string (*endpoint_text)(const sockaddr* address, socklen_t bytes);
    /// stream_info::packet_bytes of a connected socket.
    std::size_t (*packet_bytes)(int fd);
    /// Peer-Address for a socket address; `ipv6`: as the option says.
    std::string (*peer_text)(int fd, const sockaddr* address, socklen_t bytes, bool ipv6);
    /// May the peer of this accepted socket connect?
    bool (*admits)(int fd, const options& settings);
};

/// A connected kernel socket as a stream. Throws std::bad_alloc, and has closed it.
std::unique_ptr<stream> make_socket_stream(boost::asio::io_context& io,
                                           base::owned_descriptor socket, const socket_kind& kind,
                                           const options& settings);

/// Binds and listens. `on_close` runs when listening ends (to remove a file).
std::unique_ptr<acceptor> listen_on(boost::asio::io_context& io, const generic_endpoint& address,
                                    const socket_kind& kind, const options& settings,
                                    std::function<void()> on_close, error_code& error);

/// Takes over the listening socket `settings.listening_fd`, whose address must be of one of the
/// families; on failure it stays the caller's. EINVAL: not listening, or another family.
std::unique_ptr<acceptor> listen_on_given(boost::asio::io_context& io,
                                          std::initializer_list<int> families,
                                          const socket_kind& kind, const options& settings,
                                          error_code& error);

/// Connects to one address, with the time-out of `settings`; optionally from a local address. A
/// connection that is there at once, as within a machine, is given to `handler` from within: then
/// the result is null. Errors are always told later.
std::shared_ptr<connect_attempt> connect_to(boost::asio::io_context& io,
                                            const generic_endpoint& address,
                                            const generic_endpoint* source, const socket_kind& kind,
                                            std::shared_ptr<const options> settings,
                                            connect_handler handler);

} // namespace zlink::transport
