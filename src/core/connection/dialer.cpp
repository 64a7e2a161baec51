// SPDX-License-Identifier: Apache-2.0
#include "core/connection/dialer.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <climits>
#include <new>
#include <random>
#include <utility>
#include <zmq.h>

namespace zlink::core {

dialer::dialer(boost::asio::io_context& io, std::shared_ptr<transport::connect_endpoint> endpoint,
               std::shared_ptr<const socket_options> options)
    : io_(io), endpoint_(std::move(endpoint)), options_(std::move(options))
{}

/// What the handlers of an attempt hold together. If they are dropped before the attempt has told
/// its result, it has run out of memory, wherever that was.
struct dialer::answer {
    explicit answer(std::shared_ptr<dialer> whose) noexcept : to(std::move(whose)) {}
    ~answer()
    {
        if (to->awaited_ == this)
            to->get_stuck();
    }
    answer(const answer&) = delete;
    answer& operator=(const answer&) = delete;

    const std::shared_ptr<dialer> to;
};

void dialer::start(std::shared_ptr<dialing_owner> owner) noexcept
{
    to_ = std::move(owner);
    attempt();
}

void dialer::attempt() noexcept
{
    using step = transport::connect_handler::step;
    try {
        const auto awaited = std::make_shared<answer>(shared_from_this());
        awaited_ = awaited.get();
        const auto pending =
            endpoint_->connect(io_, {[awaited](const transport::error_code& error,
                                               std::unique_ptr<transport::stream> stream) {
                                         awaited->to->attempted(*awaited, error, std::move(stream));
                                     },
                                     [awaited](step what, int value) {
                                         dialer& self = *awaited->to;
                                         if (what == step::delayed)
                                             return self.tell(ZMQ_EVENT_CONNECT_DELAYED, value);
                                         self.tell_closed();
                                         self.closed_descriptor_ = value;
                                     }});
        if (awaited_ == awaited.get()) // its result has not been told already
            attempt_ = pending;
    } catch (...) { // no memory, or no thread to look up a name
        get_stuck();
    }
}

void dialer::attempted(const answer& which, const transport::error_code& error,
                       std::unique_ptr<transport::stream> stream)
{
    if (awaited_ != &which)
        return; // nobody waits for it any more
    awaited_ = nullptr;
    attempt_.reset();
    if (error)
        return failed(error);
    tell_closed();       // before there is a connection, whose ends an event would name
    const auto to = to_; // stop() may come from within
    to->connected(std::move(stream));
}

void dialer::failed(const transport::error_code& error)
{
    if (retries_after(error))
        return retry();
    const auto to = to_;
    to->connected(nullptr);
}

void dialer::get_stuck() noexcept
{
    awaited_ = nullptr;
    attempt_.reset();
    is_stuck_ = true;
    if (to_)
        to_->dialing_is_stuck();
}

void dialer::go_on()
{
    if (std::exchange(is_stuck_, false) && to_)
        failed({ENOMEM, boost::system::system_category()});
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
    try {
        const int interval_ms = next_interval_ms();
        if (!timer_)
            timer_ = std::make_unique<boost::asio::steady_timer>(io_);
        timer_->expires_after(std::chrono::milliseconds(interval_ms));
        timer_->async_wait([self = shared_from_this()](const transport::error_code& error) {
            if (!error && self->to_)
                self->attempt();
        });
        interval_ms_ = interval_ms;
    } catch (const std::bad_alloc&) {
        return get_stuck();
    }
    tell(ZMQ_EVENT_CONNECT_RETRIED, interval_ms_);
}

void dialer::tell_closed()
{
    if (const auto descriptor = std::exchange(closed_descriptor_, std::nullopt); descriptor && to_)
        to_->dialing(ZMQ_EVENT_CLOSED, *descriptor);
}

void dialer::stop() noexcept
{
    awaited_ = nullptr;
    if (timer_)
        timer_->cancel();
    if (const auto pending = attempt_.lock())
        pending->cancel();
    attempt_.reset();
    tell_closed();
    to_ = nullptr;
}

} // namespace zlink::core
