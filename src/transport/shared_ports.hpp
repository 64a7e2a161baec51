// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/exchange.hpp"
#include "transport/options.hpp"
#include "transport/scheme.hpp"

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Listeners of one context that share an address and a port, where connections name the path that
/// they are for (WebSockets). Each accepts on a socket of its own, which is a duplicate of the
/// first one's; who accepts a connection that is for another listener passes it on.
namespace zlink::transport {

/// Where a listener finds the connections that others have accepted for it, and what it asks of
/// them beyond what all listeners of its port have in common.
///
/// Thread safety: any thread; on_arrival() and close() are the listener's.
class passed_inbox : public std::enable_shared_from_this<passed_inbox> {
public:
    passed_inbox(boost::asio::io_context& io, std::shared_ptr<const options> settings) noexcept
        : io_(io), settings_(std::move(settings))
    {}

    const options& settings() const noexcept { return *settings_; }

    /// What comes after close() is dropped. Throws std::bad_alloc.
    void put(acceptor::result connection);
    std::optional<acceptor::result> take();
    bool empty() const noexcept;
    /// Calls `arrived` in the I/O thread after each put(). Once.
    void on_arrival(std::function<void()> arrived);
    void close() noexcept;

private:
    boost::asio::io_context& io_;
    const std::shared_ptr<const options> settings_;
    mutable std::mutex mutex_;
    std::list<acceptor::result> waiting_; ///< to make an empty one needs no memory
    std::function<void()> arrived_;
    bool closed_ = false;
};

/// One address and port, with those that listen there.
///
/// Thread safety: any thread.
class shared_port {
public:
    /// `through`: what the connections of all its listeners share.
    shared_port(std::shared_ptr<const options> settings, std::shared_ptr<bind_endpoint> through)
        : settings_(std::move(settings)), through_(std::move(through))
    {}

    /// False: the path is taken. Throws std::bad_alloc.
    bool add(const std::string& path, std::shared_ptr<passed_inbox> inbox, int descriptor);
    void remove(const passed_inbox& inbox) noexcept;
    /// Who listens at the path that a request names; null: nobody. A single listener has all
    /// paths. The part of the target from '?' on counts only if the listener has it as well.
    std::shared_ptr<passed_inbox> find(std::string_view target) const;
    bool has(const std::string& path) const;
    bool empty() const noexcept;
    /// Another descriptor of the listening socket; -1 and errno.
    int duplicate_descriptor() const noexcept;
    const options& settings() const noexcept { return *settings_; }
    const std::shared_ptr<bind_endpoint>& through() const noexcept { return through_; }

private:
    struct listening {
        std::shared_ptr<passed_inbox> inbox;
        int descriptor; ///< open until remove()
    };

    const std::shared_ptr<const options> settings_;
    const std::shared_ptr<bind_endpoint> through_;
    mutable std::mutex mutex_;
    std::map<std::string, listening, std::less<>> paths_;
};

/// The ports of a context, by their endpoints without a path.
///
/// Thread safety: any thread, with the lock().
class shared_ports {
public:
    std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
    /// Null: nobody listens there.
    std::shared_ptr<shared_port> find(const std::string& endpoint);
    /// Takes the place of one that nobody listens at any more. Throws std::bad_alloc.
    void add(const std::string& endpoint, const std::shared_ptr<shared_port>& port);

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<shared_port>> ports_;
};

} // namespace zlink::transport
