// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/options.hpp"
#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>

namespace zlink::transport {

/// The address of another datagram socket.
struct datagram_peer {
    sockaddr_storage address{};
    socklen_t bytes = 0;
};

/// A received datagram.
struct datagram {
    std::span<const std::byte> content;
    bool truncated = false; ///< it was larger than the buffer
    datagram_peer from;
};

/// An open socket for datagrams.
/// Thread safety: the thread of its I/O context only, once it is in use.
/// Errors: errno values; EAGAIN = nothing can be moved now.
class datagram_socket {
public:
    using wait_handler = std::function<void(const error_code&)>;

    virtual ~datagram_socket() = default;
    /// Takes the next datagram into `buffer`, without waiting.
    virtual int receive(std::span<std::byte> buffer, datagram& out) noexcept = 0;
    /// Sends one datagram made of `pieces`, to `to` or, without it, to where the socket was
    /// connected; without waiting.
    virtual int send(std::span<const iovec> pieces, const datagram_peer* to) noexcept = 0;
    /// Calls `handler` in the I/O thread once receive() or send() is worth calling again.
    virtual void async_wait(direction which, wait_handler handler) = 0;
    /// Ends everything; pending waits are completed with operation_aborted.
    virtual void close() noexcept = 0;
    /// The endpoint with scheme: as given, but for the port if that was left open.
    virtual const std::string& endpoint() const noexcept = 0;
    /// The numeric address `text` names; nothing if it is none for this socket.
    virtual std::optional<datagram_peer> parse_peer(std::string_view text) const = 0;
    /// "1.2.3.4:5" or "[::1]:5".
    virtual std::string peer_text(const datagram_peer& peer) const = 0;
};

/// A transport of datagrams: a row of the table in builtins.cpp. Functions report failures as
/// errors of the system category. Both block while host names are looked up.
struct datagram_scheme {
    std::string_view name;
    /// Receives at a local address, or from a multicast group.
    std::unique_ptr<datagram_socket> (*bind)(boost::asio::io_context& io, std::string_view address,
                                             const options& settings, error_code& error);
    /// Sends to a remote address or a multicast group.
    std::unique_ptr<datagram_socket> (*connect)(boost::asio::io_context& io,
                                                std::string_view address, const options& settings,
                                                error_code& error);
};

} // namespace zlink::transport
