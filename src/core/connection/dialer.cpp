// SPDX-License-Identifier: Apache-2.0
#include "core/connection/dialer.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <climits>
#include <random>
#include <utility>
#include <zmq.h>

namespace zlink::core {

dialer::dialer(boost::asio::io_context& io, const transport_row& transport,
               std::shared_ptr<transport::connect_endpoint> endpoint,
               std::shared_ptr<const socket_options> options)
    : io_(io), transport_(transport), endpoint_(std::move(endpoint)), options_(std::move(options))
{}

void dialer::start(connected_handler connected, event_handler happened)
{
    connected_ = std::move(connected);
    happened_ = std::move(happened);
    attempt();
}

void dialer::attempt()
{
    using step = transport::connect_handler::step;
    const auto self = shared_from_this();
    attempt_ = endpoint_->connect(io_, {[self](const transport::error_code& error,
                                               std::unique_ptr<transport::stream> stream) {
                                            self->attempted(error, std::move(stream));
                                        },
                                        [self](step what, int value) {
                                            if (what == step::delayed)
                                                return self->tell(ZMQ_EVENT_CONNECT_DELAYED, value);
                                            self->tell_closed();
                                            self->closed_descriptor_ = value;
                                        }});
}

void dialer::attempted(const transport::error_code& error,
                       std::unique_ptr<transport::stream> stream)
{
    attempt_.reset();
    if (!connected_)
        return;
    if (error)
        return failed(error);
    tell_closed(); // before there is a connection, whose ends an event would name
    const connected_handler connected = connected_; // stop() may come from within
    connected(std::move(stream));
}

void dialer::failed(const transport::error_code& error)
{
    if (retries_after(error))
        return retry();
    const connected_handler connected = connected_;
    connected(nullptr);
}

void dialer::succeeded()
{
    interval_ms_ = 0;
}

void dialer::unreached(const transport::error_code& error, int descriptor)
{
    closed_descriptor_ = descriptor;
    failed(error);
}

bool dialer::retries_after(const transport::error_code& error) const noexcept
{
    return options_->reconnect_interval_ms > 0 &&
           !(error == boost::asio::error::connection_refused &&
             (options_->reconnect_stop & ZMQ_RECONNECT_STOP_CONN_REFUSED) != 0);
}

bool dialer::retries_after_loss(bool handshake_failed) const noexcept
{
    return options_->reconnect_interval_ms > 0 &&
           !(handshake_failed &&
             (options_->reconnect_stop & ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED) != 0);
}

int dialer::next_interval_ms()
{
    // Of the thread, as few connections are made twice: to seed one takes longer than to connect.
    thread_local std::minstd_rand random(std::random_device{}());
    const int base = options_->reconnect_interval_ms;
    const int most = options_->reconnect_interval_max_ms;
    if (most == 0)
        return static_cast<int>(std::min<std::int64_t>(
            std::int64_t{base} + std::uniform_int_distribution<>(0, base - 1)(random), INT_MAX));
    if (interval_ms_ == 0)
        return std::min(base, most);
    return interval_ms_ > most / 2 ? most : interval_ms_ * 2;
}

void dialer::retry()
{
    interval_ms_ = next_interval_ms();
    tell(ZMQ_EVENT_CONNECT_RETRIED, interval_ms_);
    if (!timer_)
        timer_ = std::make_unique<boost::asio::steady_timer>(io_);
    timer_->expires_after(std::chrono::milliseconds(interval_ms_));
    timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (!error && self->connected_)
            self->attempt();
    });
}

void dialer::tell_closed()
{
    if (const auto descriptor = std::exchange(closed_descriptor_, std::nullopt);
        descriptor && happened_)
        happened_(ZMQ_EVENT_CLOSED, *descriptor);
}

void dialer::stop() noexcept
{
    connected_ = nullptr;
    if (timer_)
        timer_->cancel();
    if (attempt_)
        std::exchange(attempt_, nullptr)->cancel();
    tell_closed();
    happened_ = nullptr;
}

} // namespace zlink::core
