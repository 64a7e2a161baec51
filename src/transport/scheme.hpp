// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/options.hpp"
#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zlink::transport {

/// A listening address.
/// Thread safety: constructed anywhere, then used in the thread of its I/O context only.
class acceptor {
public:
    using accept_handler = std::function<void(const error_code&, std::unique_ptr<stream>)>;

    virtual ~acceptor() = default;
    /// Accepts one connection, which will live on `target`.
    virtual void async_accept(boost::asio::io_context& target, accept_handler handler) = 0;
    /// Stops listening; pending accepts end with operation_aborted.
    virtual void close() noexcept = 0;
    /// The bound endpoint with scheme, wildcards resolved.
    virtual std::string endpoint() const = 0;
    virtual int descriptor() const noexcept = 0;
};

/// One attempt to connect.
class connect_attempt {
public:
    virtual ~connect_attempt() = default;
    /// The handler will be called with operation_aborted, or has been called already.
    virtual void cancel() noexcept = 0;
};

using connect_handler = std::function<void(const error_code&, std::unique_ptr<stream>)>;

/// A transport: how addresses behind "name://" are listened on and connected to. A row of the
/// table in builtins.cpp; functions report failures as errors of the system category.
struct scheme {
    std::string_view name;
    /// Is this an address to connect to? Names are not resolved here.
    error_code (*check_connect)(std::string_view address, const options& settings);
    /// Listens at once; null and `error` on failure.
    std::unique_ptr<acceptor> (*listen)(boost::asio::io_context& io, std::string_view address,
                                        const options& settings, error_code& error);
    /// Resolves and connects; `handler` runs in the I/O thread. Call in the I/O thread.
    std::shared_ptr<connect_attempt> (*connect)(boost::asio::io_context& io,
                                                std::string_view address, const options& settings,
                                                connect_handler handler);
    /// The form LAST_ENDPOINT would give a bound wildcard or name, for zmq_unbind; may be empty.
    std::string (*canonical)(std::string_view address, const options& settings);
};

} // namespace zlink::transport
