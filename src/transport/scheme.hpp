// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/exchange.hpp"
#include "transport/options.hpp"
#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::transport {

/// A listening address.
/// Thread safety: constructed anywhere, then used in the thread of its I/O context only.
class acceptor {
public:
    virtual ~acceptor() = default;
    /// Calls `handler` once accept() is worth calling again.
    virtual void async_wait(stream::wait_handler handler) = 0;
    /// How it goes on with a connection that another listener has accepted for this one.
    struct passed {
        boost::asio::io_context* home; ///< where the stream lives
        upgrades through;              ///< instead of those of the endpoint
        std::vector<std::byte> begun;  ///< what the peer has sent already, which comes first
    };
    /// What accept() has found: no error and no stream = a peer that was not admitted.
    struct result {
        error_code error; ///< would_block = there is nobody any more
        std::unique_ptr<stream> connection{};
        std::unique_ptr<acceptor::passed> passed{};
    };
    /// Takes the connections that wait out of the kernel's queue, which is short and refuses
    /// further ones while it is full: that takes much less time than accept(), which gives them.
    virtual void collect() noexcept {}
    /// Were connections collected that accept() has not given yet? They make no wait end.
    virtual bool has_collected() const noexcept { return false; }
    /// Accepts one connection, which will live on `target` (unless it was passed on by another
    /// listener), without waiting. Throws std::bad_alloc;
    /// the connection is closed then, or still waits.
    virtual result accept(boost::asio::io_context& target) = 0;
    /// Stops listening; a pending wait ends with operation_aborted.
    virtual void close() noexcept = 0;
    /// The bound endpoint with scheme, wildcards resolved.
    virtual std::string endpoint() const = 0;
    virtual int descriptor() const noexcept = 0;
};

/// One attempt to connect.
/// Lifetime: keeps itself alive while it is pending, and nothing else has to.
class connect_attempt {
public:
    virtual ~connect_attempt() = default;
    /// The handler will be called with operation_aborted, or has been called already.
    virtual void cancel() noexcept = 0;
};

/// How an attempt to connect reports back: once with its result, and on the way there (if somebody
/// has asked for that) with what happens to its sockets. An attempt that runs out of memory drops
/// it instead. Made from any callable that takes the result.
class connect_handler {
public:
    enum class step : unsigned char {
        delayed, ///< the connection is being made; the value is an errno
        closed,  ///< a socket was closed before it was ready for use; the value is its descriptor
    };
    using result_function = std::function<void(const error_code&, std::unique_ptr<stream>)>;
    using step_function = std::function<void(step, int)>;

    connect_handler() = default;
    connect_handler(std::nullptr_t) {}
    template <class Function>
    requires(!std::same_as<Function, connect_handler> &&
             std::invocable<Function&, const error_code&, std::unique_ptr<stream>>)
        connect_handler(Function result, step_function steps = {})
        : result_(std::move(result)), steps_(std::move(steps))
    {}

    explicit operator bool() const noexcept { return static_cast<bool>(result_); }
    void operator()(const error_code& error, std::unique_ptr<stream> connected) const
    {
        result_(error, std::move(connected));
    }
    void tell(step what, int value) const
    {
        if (steps_)
            steps_(what, value);
    }
    /// For the attempts that make up this one.
    const step_function& steps() const noexcept { return steps_; }

private:
    result_function result_;
    step_function steps_;
};

/// An address to connect to that was found valid; what the connections to it share is here.
/// Lifetime: an attempt may outlive it.
/// Thread safety: made in any thread, then used in one I/O thread.
class connect_endpoint {
public:
    virtual ~connect_endpoint() = default;
    /// Resolves and connects; `handler` runs in the I/O thread, from within if there is a
    /// connection at once. Throws std::bad_alloc, and nothing is pending.
    virtual std::shared_ptr<connect_attempt> connect(boost::asio::io_context& io,
                                                     connect_handler handler) = 0;
    /// For a connection that was made.
    virtual upgrades make_upgrades() { return {}; }
    /// The endpoint, with scheme, that connections are made to first, if that is another: a proxy.
    /// Empty if not.
    virtual std::string first_hop() const { return {}; }
};

/// An address to bind, parsed; what the connections accepted there share is here.
/// Thread safety: listen() in one thread, the rest in any number at the same time.
class bind_endpoint {
public:
    virtual ~bind_endpoint() = default;
    /// Listens at once. On failure `error` is set, and the result is null or, where a socket had
    /// been opened already, an acceptor that is only good for closing it.
    virtual std::unique_ptr<acceptor> listen(boost::asio::io_context& io, error_code& error) = 0;
    /// For a connection that was accepted.
    virtual upgrades make_upgrades() const { return {}; }
    /// Connections that are accepted from now on show the certificate of these settings, if it can
    /// be used with its key; otherwise the one before. Throws std::bad_alloc.
    virtual void set_certificate(const options& settings) const { static_cast<void>(settings); }
};

/// A transport: what addresses behind "name://" mean. Functions report failures as errors of the
/// system category.
struct scheme {
    std::string_view name;
    /// Null and `error` for what is no address. Names are not resolved here.
    std::shared_ptr<connect_endpoint> (*parse_connect)(std::string_view address,
                                                       std::shared_ptr<const options> settings,
                                                       error_code& error);
    std::shared_ptr<bind_endpoint> (*parse_bind)(std::string_view address,
                                                 std::shared_ptr<const options> settings,
                                                 error_code& error);
    /// Another way to write the endpoint, with scheme, if it was bound or connected to by number;
    /// may be empty. Wildcards stand for no endpoint.
    std::string (*canonical)(std::string_view address, const options& settings);
    /// Is an endpoint known by its address as it was given, also if it could not be bound?
    bool known_unbound = false;
};

} // namespace zlink::transport
