// SPDX-License-Identifier: Apache-2.0
#include "transport/websocket/websocket.hpp"

#include "transport/tcp/tcp.hpp"
#include "transport/websocket/address.hpp"
#include "transport/websocket/http_upgrade.hpp"

#include <cerrno>
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

/// That of tcp, with the path in its endpoint.
class ws_acceptor final : public acceptor {
public:
    ws_acceptor(std::unique_ptr<acceptor> below, std::string path)
        : below_(std::move(below)), path_(std::move(path))
    {}

    void async_wait(stream::wait_handler handler) override
    {
        below_->async_wait(std::move(handler));
    }
    void collect() noexcept override { below_->collect(); }
    bool has_collected() const noexcept override { return below_->has_collected(); }
    result accept(asio::io_context& target) override { return below_->accept(target); }
    void close() noexcept override { below_->close(); }
    std::string endpoint() const override { return below_->endpoint() + path_; }
    int descriptor() const noexcept override { return below_->descriptor(); }

private:
    const std::unique_ptr<acceptor> below_;
    const std::string path_;
};

class ws_bind final : public bind_endpoint {
public:
    ws_bind(std::shared_ptr<bind_endpoint> below, std::string path)
        : below_(std::move(below)), path_(std::move(path))
    {}

    std::unique_ptr<acceptor> listen(asio::io_context& io, error_code& error) override
    {
        auto bound = below_->listen(io, error);
        return bound ? std::make_unique<ws_acceptor>(std::move(bound), path_) : nullptr;
    }
    upgrades make_upgrades() const override
    {
        upgrades through = below_->make_upgrades();
        through.push_back(std::make_unique<websocket::http_upgrade_server>());
        return through;
    }

private:
    const std::shared_ptr<bind_endpoint> below_;
    const std::string path_;
};

class ws_connect final : public connect_endpoint {
public:
    ws_connect(std::shared_ptr<connect_endpoint> below, std::string host, std::string path)
        : below_(std::move(below)), host_(std::move(host)), path_(std::move(path))
    {}

    std::shared_ptr<connect_attempt> connect(asio::io_context& io, connect_handler handler) override
    {
        return below_->connect(io, std::move(handler));
    }
    upgrades make_upgrades() override
    {
        upgrades through = below_->make_upgrades();
        through.push_back(std::make_unique<websocket::http_upgrade_client>(host_, path_));
        return through;
    }
    std::string first_hop() const override { return below_->first_hop(); }

private:
    const std::shared_ptr<connect_endpoint> below_;
    const std::string host_;
    const std::string path_;
};

std::shared_ptr<connect_endpoint>
parse_connect(std::string_view text, std::shared_ptr<const options> settings, error_code& error)
{
    auto address = websocket::split(text);
    if (!address) {
        error = invalid();
        return nullptr;
    }
    auto below = tcp_parts::parse_connect(address->tcp, std::move(settings), ws_kind(), error);
    if (error)
        return nullptr;
    return websocket::over(std::move(below), websocket::host_field(address->tcp, default_port),
                           std::move(address->path));
}

std::shared_ptr<bind_endpoint>
parse_bind(std::string_view text, std::shared_ptr<const options> settings, error_code& error)
{
    auto address = websocket::split(text);
    if (!address) {
        error = invalid();
        return nullptr;
    }
    auto below = tcp_parts::parse_bind(address->tcp, std::move(settings), ws_kind(), error);
    if (error)
        return nullptr;
    return websocket::over(std::move(below), std::move(address->path));
}

std::string canonical(std::string_view text, const options& settings)
{
    const auto address = websocket::split(text);
    if (!address)
        return {};
    const std::string endpoint =
        tcp_parts::with_scheme(ws.name, tcp.canonical(address->tcp, settings));
    return endpoint.empty() ? endpoint : endpoint + address->path;
}

} // namespace

std::shared_ptr<connect_endpoint> websocket::over(std::shared_ptr<connect_endpoint> below,
                                                  std::string host, std::string path)
{
    return std::make_shared<ws_connect>(std::move(below), std::move(host), std::move(path));
}

std::shared_ptr<bind_endpoint> websocket::over(std::shared_ptr<bind_endpoint> below,
                                               std::string path)
{
    return std::make_shared<ws_bind>(std::move(below), std::move(path));
}

const scheme ws{"ws", parse_connect, parse_bind, canonical};

} // namespace zlink::transport
