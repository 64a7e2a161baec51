// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::transport {

/// An exchange of bytes with the peer at the beginning of a connection, sans I/O: an upgrade of the
/// stream, or the handshake. Whoever runs it sends what output() holds and reports it with
/// consume_output(), and hands what arrives to feed(), as long as it is `running`.
///
/// Thread safety: one thread at a time.
/// Errors: by value; only memory exhaustion throws (std::bad_alloc).
class exchange {
public:
    enum class state : std::uint8_t {
        running,
        waiting, ///< for something else than bytes, see on_resumed(); takes no input meanwhile
        done,    ///< Output may be left, which goes out before anything else.
        failed,  ///< Output may be left that tells the peer why.
    };

    virtual ~exchange() = default;
    /// Queues the first output. Call once, before anything else.
    virtual void start() {}
    virtual std::span<const std::byte> output() const noexcept = 0;
    virtual void consume_output(std::size_t bytes) noexcept = 0;
    /// The most that may be read for it at a time: later bytes belong to the next stage.
    virtual std::size_t most_input_bytes() const noexcept { return SIZE_MAX; }
    /// Takes bytes; returns how many. Fewer than offered only when it is not running any more.
    virtual std::size_t feed(std::span<const std::byte> bytes) = 0;
    virtual state current_state() const noexcept = 0;
    /// `resumed` is called in the I/O thread when the state is not `waiting` any more. It is not
    /// called any more once the object is destroyed.
    virtual void on_resumed(std::function<void()> resumed) { static_cast<void>(resumed); }
};

/// An exchange after which the stream is another one, or leads to another place: SOCKS, TLS, the
/// opening of a WebSocket.
class upgrade : public exchange {
public:
    /// Is there no connection to the peer before it is done (a proxy)? Then it is part of
    /// connecting: a failure is one to connect.
    virtual bool reaches_peer() const noexcept { return false; }
    /// How long it may take; 0: as long as the rest of the opening.
    virtual std::chrono::milliseconds limit() const noexcept { return {}; }
    /// errno after a failure.
    virtual int error() const noexcept = 0;
    /// After a failure: has the peer violated the protocol of the upgrade? Then there is no
    /// reconnect.
    virtual bool was_violated() const noexcept { return false; }
    /// The names of the protocols that may follow, the best first; before start(). For an upgrade
    /// that has nothing to agree on they mean nothing. None: no protocol is to follow.
    virtual void offer(std::vector<std::string>) {}
    /// Once done: the name that was agreed on; empty if the upgrade does not do that.
    virtual std::string_view protocol() const noexcept { return {}; }
    /// Once done: is the connection for another listener? Then it goes there, by pass_on(), and not
    /// to the next stage here.
    virtual bool is_for_another() const noexcept { return false; }
    /// Gives it away. `home`: the context it lives in. `rest`: what was read and not fed. Throws
    /// std::bad_alloc.
    virtual void pass_on(std::unique_ptr<stream> connection, boost::asio::io_context& home,
                         std::span<const std::byte> rest)
    {
        static_cast<void>(connection);
        static_cast<void>(home);
        static_cast<void>(rest);
    }
    /// Once done and all output sent: the stream, of this I/O context, that takes the place of the
    /// given one. Throws std::bad_alloc, and the given one is left where it was.
    virtual std::unique_ptr<stream> wrap(std::unique_ptr<stream>&& below,
                                         boost::asio::io_context& io)
    {
        static_cast<void>(io);
        return std::move(below);
    }
};

/// What a connection goes through before its handshake, in this order.
using upgrades = std::vector<std::unique_ptr<upgrade>>;

} // namespace zlink::transport
