// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp.hpp"

#include "transport/socket_stream.hpp"
#include "transport/tcp/address.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

error_code last_error()
{
    return {errno, boost::system::system_category()};
}

tcp::endpoint to_tcp(const sockaddr* address, socklen_t bytes)
{
    tcp::endpoint endpoint;
    if (bytes <= endpoint.capacity())
        std::memcpy(endpoint.data(), address, bytes);
    return endpoint;
}

void set_int(int fd, int level, int name, int value)
{
    ::setsockopt(fd, level, name, &value, sizeof value);
}

error_code prepare(int fd, const options& settings)
{
    if (settings.send_buffer_bytes >= 0)
        set_int(fd, SOL_SOCKET, SO_SNDBUF, settings.send_buffer_bytes);
    if (settings.receive_buffer_bytes >= 0)
        set_int(fd, SOL_SOCKET, SO_RCVBUF, settings.receive_buffer_bytes);
    int family = 0;
    socklen_t bytes = sizeof family;
    ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes);
    if (family == AF_INET6)
        set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (settings.type_of_service > 0)
        set_int(fd,
                family == AF_INET6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP),
                family == AF_INET6 ? IPV6_TCLASS : IP_TOS, settings.type_of_service);
    if (!settings.bind_to_device.empty() &&
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, settings.bind_to_device.data(),
                     static_cast<socklen_t>(settings.bind_to_device.size())) != 0)
        return last_error();
    return {};
}

void tune(int fd, const options& settings)
{
    // Batching is done above; what is written should leave at once.
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (settings.tcp_keepalive >= 0)
        set_int(fd, SOL_SOCKET, SO_KEEPALIVE, settings.tcp_keepalive);
    if (settings.tcp_keepalive > 0) {
        if (settings.tcp_keepalive_count > 0)
            set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, settings.tcp_keepalive_count);
        if (settings.tcp_keepalive_idle_s > 0)
            set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, settings.tcp_keepalive_idle_s);
        if (settings.tcp_keepalive_interval_s > 0)
            set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, settings.tcp_keepalive_interval_s);
    }
    if (settings.tcp_max_retransmit_ms > 0)
        set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, settings.tcp_max_retransmit_ms);
}

std::string endpoint_text(const sockaddr* address, socklen_t bytes)
{
    return tcp_address::endpoint_text(to_tcp(address, bytes));
}

std::string peer_text(int, const sockaddr* address, socklen_t bytes)
{
    auto host = to_tcp(address, bytes).address();
    if (host.is_v6() && host.to_v6().is_v4_mapped())
        host = asio::ip::make_address_v4(asio::ip::v4_mapped, host.to_v6());
    return host.to_string();
}

constexpr socket_kind kind{prepare, tune, endpoint_text, peer_text};

error_code check_connect(std::string_view address, const options&)
{
    return tcp_address::check_connect(address);
}

std::unique_ptr<acceptor> listen(asio::io_context& io, std::string_view address,
                                 const options& settings, error_code& error)
{
    if (settings.listening_fd >= 0)
        return listen_on_given(io, {AF_INET, AF_INET6}, kind, settings, error);
    // A source part, as connect addresses may have, means nothing here.
    const auto endpoint =
        tcp_address::resolve_local(tcp_address::split_source(address).target, settings.ipv6, error);
    if (error)
        return nullptr;
    return listen_on(io, endpoint, kind, settings, nullptr, error);
}

/// Resolves, then connects to one address after the other.
class tcp_connect final : public connect_attempt, public std::enable_shared_from_this<tcp_connect> {
public:
    tcp_connect(asio::io_context& io, const options& settings, connect_handler handler)
        : io_(io), resolver_(io), settings_(settings), handler_(std::move(handler))
    {}

    void start(std::string_view address)
    {
        const auto parts = tcp_address::split_source(address);
        const auto self = shared_from_this();
        if (!parts.source.empty()) {
            error_code error;
            source_ = tcp_address::resolve_local(parts.source, settings_.ipv6, error);
            has_source_ = true;
            if (error)
                return asio::post(io_, [self, error] { self->finish(error, nullptr); });
        }
        const auto target = tcp_address::split(parts.target);
        error_code not_numeric;
        const auto literal = asio::ip::make_address(target->host, not_numeric);
        if (!not_numeric) {
            candidates_.emplace_back(literal, static_cast<std::uint16_t>(std::stoi(target->port)));
            return next({});
        }
        auto resolved = [self](const error_code& error, tcp::resolver::results_type results) {
            if (!self->handler_)
                return;
            for (const auto& entry : results)
                self->candidates_.push_back(entry.endpoint());
            self->next(error);
        };
        if (settings_.ipv6)
            resolver_.async_resolve(target->host, target->port, tcp::resolver::flags(),
                                    std::move(resolved));
        else
            resolver_.async_resolve(tcp::v4(), target->host, target->port, tcp::resolver::flags(),
                                    std::move(resolved));
    }

    void cancel() noexcept override
    {
        resolver_.cancel();
        if (current_)
            std::exchange(current_, nullptr)->cancel();
        finish(asio::error::operation_aborted, nullptr);
    }

private:
    void next(const error_code& last)
    {
        if (tried_ == candidates_.size())
            return finish(last ? last : error_code(asio::error::host_not_found), nullptr);
        const generic_endpoint source(source_);
        current_ =
            connect_to(io_, candidates_[tried_++], has_source_ ? &source : nullptr, kind, settings_,
                       [self = shared_from_this()](const error_code& error,
                                                   std::unique_ptr<stream> connected) {
                           if (error && error != asio::error::operation_aborted && self->handler_)
                               return self->next(error);
                           self->finish(error, std::move(connected));
                       });
    }

    void finish(const error_code& error, std::unique_ptr<stream> connected)
    {
        if (!handler_)
            return;
        const connect_handler handler = std::exchange(handler_, nullptr);
        current_.reset();
        handler(error, std::move(connected));
    }

    asio::io_context& io_;
    tcp::resolver resolver_;
    options settings_;
    connect_handler handler_;
    std::vector<tcp::endpoint> candidates_;
    std::size_t tried_ = 0;
    tcp::endpoint source_;
    bool has_source_ = false;
    std::shared_ptr<connect_attempt> current_;
};

std::shared_ptr<connect_attempt> connect(asio::io_context& io, std::string_view address,
                                         const options& settings, connect_handler handler)
{
    auto attempt = std::make_shared<tcp_connect>(io, settings, std::move(handler));
    attempt->start(address);
    return attempt;
}

std::string canonical(std::string_view address, const options& settings)
{
    error_code error;
    const auto endpoint = tcp_address::resolve_local(address, settings.ipv6, error);
    return error ? std::string() : tcp_address::endpoint_text(endpoint);
}

} // namespace

const scheme tcp{"tcp", check_connect, listen, connect, canonical};

} // namespace zlink::transport
