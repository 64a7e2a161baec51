// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/endpoints.hpp"

#include "transport/tls/upgrade.hpp"

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

namespace zlink::transport::tls_parts {
namespace {

class connect_over final : public connect_endpoint {
public:
    connect_over(std::shared_ptr<connect_endpoint> below, std::shared_ptr<context_source> contexts)
        : below_(std::move(below)), contexts_(std::move(contexts))
    {}

    std::shared_ptr<connect_attempt> connect(boost::asio::io_context& io,
                                             connect_handler handler) override
    {
        return below_->connect(io, std::move(handler));
    }
    upgrades make_upgrades() override
    {
        upgrades all = below_->make_upgrades();
        all.push_back(make_upgrade(contexts_->current()));
        return all;
    }
    std::string first_hop() const override { return below_->first_hop(); }

private:
    const std::shared_ptr<connect_endpoint> below_;
    const std::shared_ptr<context_source> contexts_;
};

class bind_over final : public bind_endpoint {
public:
    bind_over(std::shared_ptr<bind_endpoint> below, std::shared_ptr<context_source> contexts)
        : below_(std::move(below)), contexts_(std::move(contexts))
    {}

    std::unique_ptr<acceptor> listen(boost::asio::io_context& io, error_code& error) override
    {
        return below_->listen(io, error);
    }
    upgrades make_upgrades() const override
    {
        upgrades all = below_->make_upgrades();
        all.push_back(make_upgrade(contexts_->current()));
        return all;
    }
    void set_certificate(const options& settings) const override
    {
        contexts_->set_certificate(*settings.tls);
    }

private:
    const std::shared_ptr<bind_endpoint> below_;
    const std::shared_ptr<context_source> contexts_;
};

} // namespace

std::shared_ptr<connect_endpoint> over(std::shared_ptr<connect_endpoint> below,
                                       std::shared_ptr<context_source> contexts)
{
    return std::make_shared<connect_over>(std::move(below), std::move(contexts));
}

std::shared_ptr<bind_endpoint> over(std::shared_ptr<bind_endpoint> below,
                                    std::shared_ptr<context_source> contexts)
{
    return std::make_shared<bind_over>(std::move(below), std::move(contexts));
}

} // namespace zlink::transport::tls_parts
