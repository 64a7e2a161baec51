// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/websocket.hpp"

#include "base/system/owned_descriptor.hpp"
#include "base/system/sockets_of_parent.hpp"
#include "transport/shared_ports.hpp"
#include "transport/socket_stream.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/websocket/address.hpp"
#include "transport/websocket/http_upgrade.hpp"

#include <cerrno>
#include <mutex>
#include <sys/socket.h>
#include <utility>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;

constexpr std::string_view default_port = "80";

error_code invalid()
{
    return {EINVAL, boost::system::system_category()};
}

// Of the two ends of a connection only one has a path: the one that was bound, which is known by
// its endpoint.
constexpr auto& ws_kind = tcp_parts::kind_for<ws>;

/// That of tcp, with the path in its endpoint, and for what other listeners of the port pass on.
class ws_acceptor final : public acceptor {
public:
    ws_acceptor(std::unique_ptr<acceptor> below, std::shared_ptr<shared_port> port,
                std::shared_ptr<passed_inbox> inbox, std::string path)
        : below_(std::move(below)),
          port_(std::move(port)),
          inbox_(std::move(inbox)),
          path_(std::move(path)),
          wait_(std::make_shared<pending>())
    {}
    ~ws_acceptor() override { leave(); }

    void async_wait(stream::wait_handler handler) override
    {
        if (!wait_->is_below) {
            below_->async_wait([wait = wait_](const error_code& error) {
                wait->is_below = false;
                wait->end(error);
            });
            wait_->is_below = true;
        }
        inbox_->on_arrival([wait = wait_] { wait->end({}); });
        wait_->handler = std::move(handler);
    }
    void collect() noexcept override { below_->collect(); }
    bool has_collected() const noexcept override
    {
        return below_->has_collected() || !inbox_->empty();
    }
    result accept(asio::io_context& target) override
    {
        if (auto passed = inbox_->take())
            return std::move(*passed);
        return below_->accept(target);
    }
    void close() noexcept override
    {
        leave();
        below_->close();
    }
    std::string endpoint() const override { return below_->endpoint() + path_; }
    int descriptor() const noexcept override { return below_->descriptor(); }

private:
    /// Two things may end a wait; the one below goes on when the other has.
    struct pending {
        stream::wait_handler handler;
        bool is_below = false;

        void end(const error_code& error)
        {
            if (const auto told = std::exchange(handler, nullptr))
                told(error);
        }
    };

    // Before the descriptor, which others may duplicate, is closed.
    void leave() noexcept
    {
        port_->remove(*inbox_);
        inbox_->close();
    }

    const std::unique_ptr<acceptor> below_;
    const std::shared_ptr<shared_port> port_;
    const std::shared_ptr<passed_inbox> inbox_;
    const std::string path_;
    const std::shared_ptr<pending> wait_;
};

class ws_bind final : public bind_endpoint {
public:
    ws_bind(std::shared_ptr<bind_endpoint> below, websocket::listening_place where,
            std::string path)
        : below_(std::move(below)), where_(std::move(where)), path_(std::move(path))
    {}

    std::unique_ptr<acceptor> listen(asio::io_context& io, error_code& error) override
    {
        shared_ports* const ports = where_.settings->ports;
        const auto lock = ports ? ports->lock() : std::unique_lock<std::mutex>();
        auto bound = below_->listen(io, error);
        if (ports && error == in_use())
            if (auto shared = share(*ports, io, error))
                bound = std::move(shared);
        if (!bound || error)
            return bound;
        if (!port_) {
            port_ = std::make_shared<shared_port>(where_.settings, below_);
            if (ports)
                ports->add(bound->endpoint(), port_);
        }
        inbox_ = std::make_shared<passed_inbox>(io, where_.settings);
        port_->add(path_, inbox_, bound->descriptor());
        try {
            return std::make_unique<ws_acceptor>(std::move(bound), port_, inbox_, path_);
        } catch (...) {
            port_->remove(*inbox_); // the path is free
            throw;
        }
    }
    void set_certificate(const options& settings) const override
    {
        below_->set_certificate(settings);
    }
    upgrades make_upgrades() const override
    {
        upgrades through = below_->make_upgrades();
        through.push_back(std::make_unique<websocket::http_upgrade_server>(port_, inbox_));
        return through;
    }

private:
    static error_code in_use() { return {EADDRINUSE, boost::system::system_category()}; }

    // Up to the path, connections are treated alike, whomever they are for.
    static bool share_all_but_origins(const options& one, const options& other)
    {
        options same = one;
        same.origins = other.origins;
        return same == other;
    }

    // Listens where another endpoint does. What that one admits is admitted to this one, so that
    // both have to ask for the same. Null: it cannot be shared, and the error stays.
    std::unique_ptr<acceptor> share(shared_ports& ports, asio::io_context& io, error_code& error)
    {
        const auto port = ports.find(where_.endpoint);
        if (!port || port->has(path_) || !share_all_but_origins(port->settings(), *where_.settings))
            return nullptr;
        options settings = *where_.settings;
        base::owned_descriptor own(port->duplicate_descriptor());
        if (own.get() < 0)
            return nullptr;
        settings.listening_fd = own.get();
        base::close_in_children(own.get());
        error_code failed;
        auto bound = listen_on_given(io, {AF_INET, AF_INET6}, where_.kind, settings, failed);
        if (!bound)
            return nullptr;
        own.release();
        error = {};
        port_ = port;
        below_ = port->through();
        return bound;
    }

    std::shared_ptr<bind_endpoint> below_;
    const websocket::listening_place where_;
    const std::string path_;
    std::shared_ptr<shared_port> port_;
    std::shared_ptr<passed_inbox> inbox_;
};

class ws_connect final : public connect_endpoint {
public:
    ws_connect(std::shared_ptr<connect_endpoint> below, websocket::request_fields fields)
        : below_(std::move(below)), fields_(std::move(fields))
    {}

    std::shared_ptr<connect_attempt> connect(asio::io_context& io, connect_handler handler) override
    {
        return below_->connect(io, std::move(handler));
    }
    upgrades make_upgrades() override
    {
        upgrades through = below_->make_upgrades();
        through.push_back(std::make_unique<websocket::http_upgrade_client>(fields_));
        return through;
    }
    std::string first_hop() const override { return below_->first_hop(); }

private:
    const std::shared_ptr<connect_endpoint> below_;
    const websocket::request_fields fields_;
};

std::string canonical_below(std::string_view tcp_address, const options& settings)
{
    return tcp_parts::with_scheme(ws.name, tcp.canonical(tcp_address, settings));
}

std::shared_ptr<connect_endpoint>
parse_connect(std::string_view text, std::shared_ptr<const options> settings, error_code& error)
{
    auto address = websocket::split(text);
    if (!address) {
        error = invalid();
        return nullptr;
    }
    auto below = tcp_parts::parse_connect(address->tcp, settings, ws_kind(), error);
    if (error)
        return nullptr;
    return websocket::over(std::move(below), {websocket::host_field(address->tcp, default_port),
                                              std::move(address->path), settings->origins->own});
}

std::shared_ptr<bind_endpoint>
parse_bind(std::string_view text, std::shared_ptr<const options> settings, error_code& error)
{
    auto address = websocket::split(text);
    if (!address) {
        error = invalid();
        return nullptr;
    }
    auto below = tcp_parts::parse_bind(address->tcp, settings, ws_kind(), error);
    if (error)
        return nullptr;
    return websocket::over(std::move(below),
                           {canonical_below(address->tcp, *settings), ws_kind(), settings},
                           std::move(address->path));
}

std::string canonical(std::string_view text, const options& settings)
{
    const auto address = websocket::split(text);
    if (!address)
        return {};
    const std::string endpoint = canonical_below(address->tcp, settings);
    return endpoint.empty() ? endpoint : endpoint + address->path;
}

} // namespace

std::shared_ptr<connect_endpoint> websocket::over(std::shared_ptr<connect_endpoint> below,
                                                  request_fields fields)
{
    return std::make_shared<ws_connect>(std::move(below), std::move(fields));
}

std::shared_ptr<bind_endpoint> websocket::over(std::shared_ptr<bind_endpoint> below,
                                               listening_place where, std::string path)
{
    return std::make_shared<ws_bind>(std::move(below), std::move(where), std::move(path));
}

const scheme ws{"ws", parse_connect, parse_bind, canonical};

} // namespace zlink::transport
