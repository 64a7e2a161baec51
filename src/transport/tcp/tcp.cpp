// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp.hpp"

#include "base/tuning.hpp"

#include "transport/ip/host.hpp"
#include "transport/ip/settings.hpp"
#include "transport/socket_stream.hpp"
#include "transport/socks/socks5.hpp"
#include "transport/tcp/accept_filter.hpp"
#include "transport/tcp/address.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace zlink::transport {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

error_code system_error(int value)
{
    return {value, boost::system::system_category()};
}

tcp::endpoint to_tcp(const sockaddr* address, socklen_t bytes)
{
    tcp::endpoint endpoint;
    if (bytes <= endpoint.capacity())
        std::memcpy(endpoint.data(), address, bytes);
    return endpoint;
}

// The size that the kernel begins with. If it could not grow, small segments would be dropped when
// the buffer is full of them, although the window is open, and sent again seconds later.
void set_first_receive_buffer([[maybe_unused]] int fd, [[maybe_unused]] int bytes) noexcept
{
#ifdef SO_BUF_LOCK
    int fixed = 0;
    socklen_t size = sizeof fixed;
    if (::getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &fixed, &size) != 0)
        return;
    // Only Linux 5.14 and later let go of a size that was set.
    static const bool lets_go = ::setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &fixed, size) == 0;
    if (!lets_go)
        return;
    ip_settings::set_int(fd, SOL_SOCKET, SO_RCVBUF, bytes);
    ip_settings::set_int(fd, SOL_SOCKET, SO_BUF_LOCK, fixed);
#endif
}

bool is_within_machine(int fd) noexcept
{
    sockaddr_storage end{};
    auto* const address = reinterpret_cast<sockaddr*>(&end);
    socklen_t bytes = sizeof end;
    if (::getpeername(fd, address, &bytes) != 0)
        return false;
    const auto far = to_tcp(address, bytes).address();
    if (ip_host::unmapped(far).is_loopback())
        return true;
    bytes = sizeof end;
    return ::getsockname(fd, address, &bytes) == 0 && to_tcp(address, bytes).address() == far;
}

void tune(int fd, const options& settings)
{
    using ip_settings::set_int;
    ip_settings::apply_per_connection(fd, settings);
    if (is_within_machine(fd)) {
        if (settings.send_buffer_bytes < 0)
            set_int(fd, SOL_SOCKET, SO_SNDBUF, tuning::stream::local_send_buffer_bytes);
        if (settings.receive_buffer_bytes < 0)
            set_first_receive_buffer(fd, tuning::stream::local_receive_buffer_bytes);
    }
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

std::string peer_text(int, const sockaddr* address, socklen_t bytes, bool ipv6)
{
    // With IPv6, IPv4 addresses have their mapped form, also where the socket has none of its own.
    const auto peer = to_tcp(address, bytes).address();
    return (ipv6 && peer.is_v4() ? "::ffff:" : "") + peer.to_string();
}

// Only the loopback interface has packets as large as this. Over others the kernel, or the
// hardware, cuts larger units in pieces, and where they end makes little difference.
constexpr std::uint32_t smallest_large_packet_bytes = 32 * 1024;

std::size_t packet_bytes(int fd)
{
    // What this end takes; where it matters the other end is of the same interface. The current
    // size (TCP_MAXSEG) is half of that until the window has grown.
    tcp_info info{};
    socklen_t size = sizeof info;
    const bool known = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                       info.tcpi_advmss >= smallest_large_packet_bytes;
    return known ? info.tcpi_advmss : 0;
}

bool admits(int fd, const options& settings)
{
    if (settings.accept_filters.empty())
        return true;
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    auto* const address = reinterpret_cast<sockaddr*>(&peer);
    return ::getpeername(fd, address, &bytes) == 0 &&
           filters_admit(settings.accept_filters, to_tcp(address, bytes).address());
}

constexpr socket_kind kind{ip_settings::apply, tune,      endpoint_text,
                           packet_bytes,       peer_text, admits};

class tcp_bind final : public bind_endpoint {
public:
    tcp_bind(std::string_view address, std::shared_ptr<const options> settings,
             const socket_kind& kind)
        : address_(address), settings_(std::move(settings)), kind_(kind)
    {}

    std::unique_ptr<acceptor> listen(asio::io_context& io, error_code& error) override
    {
        if (settings_->listening_fd >= 0)
            return listen_on_given(io, {AF_INET, AF_INET6}, kind_, *settings_, error);
        auto endpoint = tcp_address::resolve_local(address_, settings_->ipv6, error);
        if (error)
            return nullptr;
        auto bound = listen_on(io, endpoint, kind_, *settings_, nullptr, error);
        if (!bound && error == system_error(EAFNOSUPPORT) && settings_->ipv6) {
            // A system without IPv6: IPv4 addresses can still be served.
            error = {};
            endpoint = tcp_address::resolve_local(address_, false, error);
            if (!error)
                bound = listen_on(io, endpoint, kind_, *settings_, nullptr, error);
        }
        return bound;
    }

private:
    const std::string address_;
    const std::shared_ptr<const options> settings_;
    const socket_kind& kind_;
};

// A proxy that accepts and then says nothing is given up after this, if no other limit is set.
constexpr std::chrono::milliseconds proxy_limit{30'000};

/// Where a connection goes.
struct tcp_target {
    std::optional<std::string> source; ///< the local address, as it was given
    ip_host::host_port next_hop;       ///< the peer, or the proxy in its place
};

using tcp_parts::peer_of;

tcp_target target_of(std::string_view address, const options& settings)
{
    tcp_target target;
    const auto parts = ip_host::split_local(address);
    if (parts.has_local)
        target.source.emplace(parts.local);
    if (settings.socks->proxy.empty()) {
        target.next_hop = peer_of(address);
        return target;
    }
    const auto proxy = ip_host::split_local(settings.socks->proxy);
    if (proxy.has_local)
        target.source.emplace(proxy.local);
    target.next_hop = ip_host::split(proxy.remote).value_or(ip_host::host_port{});
    return target;
}

/// Resolves the next hop, then tries one address after the other.
class tcp_connect final : public connect_attempt, public std::enable_shared_from_this<tcp_connect> {
public:
    tcp_connect(asio::io_context& io, tcp_target target, std::shared_ptr<const options> settings,
                const socket_kind& kind, connect_handler handler)
        : io_(io),
          target_(std::move(target)),
          settings_(std::move(settings)),
          kind_(kind),
          handler_(std::move(handler))
    {}

    void start()
    {
        const auto& hop = target_.next_hop;
        const auto port = ip_host::parse_port(hop.port);
        if (!port || hop.host.empty())
            return finish_later(system_error(EINVAL));
        if (const auto literal = ip_host::literal(hop.host, settings_->ipv6)) {
            if (literal->is_v6() && !settings_->ipv6)
                return finish_later(system_error(EAFNOSUPPORT));
            candidates_.emplace_back(*literal, *port);
            return next({});
        }
        auto resolved = [self = shared_from_this()](const error_code& error,
                                                    const tcp::resolver::results_type& results) {
            if (!self->handler_)
                return;
            for (const auto& entry : results)
                self->candidates_.push_back(entry.endpoint());
            self->next(error);
        };
        resolver_.emplace(io_);
        if (settings_->ipv6)
            resolver_->async_resolve(hop.host, hop.port, tcp::resolver::flags(),
                                     std::move(resolved));
        else
            resolver_->async_resolve(tcp::v4(), hop.host, hop.port, tcp::resolver::flags(),
                                     std::move(resolved));
    }

    void cancel() noexcept override
    {
        if (resolver_)
            resolver_->cancel();
        const auto pending = std::exchange(current_, nullptr);
        finish(asio::error::operation_aborted, nullptr);
        if (pending)
            pending->cancel();
    }

private:
    void next(error_code last)
    {
        while (tried_ != candidates_.size()) {
            const tcp::endpoint& candidate = candidates_[tried_++];
            if (!target_.source)
                return try_address(candidate, nullptr);
            error_code unsuitable;
            const generic_endpoint source(
                tcp_address::resolve_source(*target_.source, candidate, unsuitable));
            if (!unsuitable)
                return try_address(candidate, &source);
            last = unsuitable;
        }
        finish_later(last ? last : error_code(asio::error::host_not_found));
    }

    void try_address(const tcp::endpoint& candidate, const generic_endpoint* source)
    {
        auto pending = connect_to(io_, candidate, source, kind_, settings_,
                                  {[self = shared_from_this()](const error_code& error,
                                                               std::unique_ptr<stream> connected) {
                                       if (!self->handler_)
                                           return;
                                       if (error)
                                           return self->next(error);
                                       self->finish({}, std::move(connected));
                                   },
                                   handler_.steps()});
        if (pending)
            current_ = std::move(pending);
    }

    void finish_later(const error_code& error)
    {
        asio::post(io_, [self = shared_from_this(), error] { self->finish(error, nullptr); });
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
    std::optional<tcp::resolver> resolver_; ///< of a name
    const tcp_target target_;
    const std::shared_ptr<const options> settings_;
    const socket_kind& kind_;
    connect_handler handler_;
    std::vector<tcp::endpoint> candidates_;
    std::size_t tried_ = 0;
    std::shared_ptr<connect_attempt> current_;
};

class tcp_connect_endpoint final : public connect_endpoint {
public:
    tcp_connect_endpoint(std::string_view address, std::shared_ptr<const options> settings,
                         const socket_kind& kind)
        : address_(address), settings_(std::move(settings)), kind_(kind)
    {}

    std::shared_ptr<connect_attempt> connect(asio::io_context& io, connect_handler handler) override
    {
        auto attempt = std::make_shared<tcp_connect>(io, target_of(address_, *settings_), settings_,
                                                     kind_, std::move(handler));
        attempt->start();
        return attempt;
    }

    upgrades make_upgrades() override
    {
        upgrades through;
        if (!uses_proxy())
            return through;
        const ip_host::host_port peer = peer_of(address_);
        through.push_back(std::make_unique<socks5_client>(
            socks5_request{peer.host, ip_host::parse_port(peer.port).value_or(0),
                           settings_->socks->username, settings_->socks->password},
            settings_->connect_timeout_ms > 0
                ? std::chrono::milliseconds(settings_->connect_timeout_ms)
                : proxy_limit));
        return through;
    }

    std::string first_hop() const override
    {
        return uses_proxy() ? "tcp://" + settings_->socks->proxy : std::string();
    }

private:
    bool uses_proxy() const noexcept { return !settings_->socks->proxy.empty(); }

    // As text, which is short: there may be many endpoints, and few attempts at a time.
    const std::string address_;
    const std::shared_ptr<const options> settings_;
    const socket_kind& kind_;
};

std::shared_ptr<connect_endpoint>
parse_connect(std::string_view address, std::shared_ptr<const options> settings, error_code& error)
{
    return tcp_parts::parse_connect(address, std::move(settings), kind, error);
}

std::shared_ptr<bind_endpoint>
parse_bind(std::string_view address, std::shared_ptr<const options> settings, error_code& error)
{
    return tcp_parts::parse_bind(address, std::move(settings), kind, error);
}

std::string canonical(std::string_view address, const options& settings)
{
    const auto endpoint = tcp_address::resolve_bound(address, settings.ipv6);
    return endpoint.port() == 0 ? std::string() : tcp_address::endpoint_text(endpoint);
}

} // namespace

namespace tcp_parts {

std::shared_ptr<connect_endpoint> parse_connect(std::string_view address,
                                                std::shared_ptr<const options> settings,
                                                const socket_kind& kind, error_code& error)
{
    error = tcp_address::check_connect(address);
    return error ? nullptr
                 : std::make_shared<tcp_connect_endpoint>(address, std::move(settings), kind);
}

std::shared_ptr<bind_endpoint> parse_bind(std::string_view address,
                                          std::shared_ptr<const options> settings,
                                          const socket_kind& kind, error_code& error)
{
    if (settings->listening_fd >= 0) // whose address counts
        return std::make_shared<tcp_bind>(address, std::move(settings), kind);
    // A source, as connect addresses may have, means nothing here, but it has to be one.
    const auto parts = ip_host::split_local(address);
    if (parts.has_local)
        error = tcp_address::check_source(parts.local);
    return error ? nullptr : std::make_shared<tcp_bind>(parts.remote, std::move(settings), kind);
}

ip_host::host_port peer_of(std::string_view address)
{
    return ip_host::split(ip_host::split_local(address).remote).value_or(ip_host::host_port{});
}

const socket_kind& kind() noexcept
{
    return transport::kind;
}

std::string with_scheme(std::string_view name, const std::string& tcp_endpoint)
{
    return tcp_endpoint.empty()
               ? tcp_endpoint
               : std::string(name).append(tcp_endpoint, transport::tcp.name.size());
}

} // namespace tcp_parts

const scheme tcp{"tcp", parse_connect, parse_bind, canonical};

} // namespace zlink::transport
