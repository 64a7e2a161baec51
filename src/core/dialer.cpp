// SPDX-License-Identifier: Apache-2.0
#include "core/dialer.hpp"

#include <algorithm>
#include <climits>

namespace zlink::core {

dialer::dialer(boost::asio::io_context& io, const transport::scheme& scheme, std::string address,
               std::shared_ptr<const socket_options> options)
    : io_(io),
      scheme_(scheme),
      address_(std::move(address)),
      options_(std::move(options)),
      timer_(io),
      random_(std::random_device{}())
{}

void dialer::start(connected_handler connected)
{
    connected_ = std::move(connected);
    attempt();
}

void dialer::attempt()
{
    attempt_ =
        scheme_.connect(io_, address_, options_->transport,
                        [self = shared_from_this()](const transport::error_code& error,
                                                    std::unique_ptr<transport::stream> stream) {
                            self->attempt_.reset();
                            if (!self->connected_)
                                return;
                            if (error) {
                                if (!self->retry()) {
                                    const connected_handler connected = self->connected_;
                                    connected(nullptr);
                                }
                                return;
                            }
                            self->interval_ms_ = 0;
                            const connected_handler connected =
                                self->connected_; // stop() may come from within
                            connected(std::move(stream));
                        });
}

int dialer::next_interval_ms()
{
    const int base = options_->reconnect_interval_ms;
    const int most = options_->reconnect_interval_max_ms;
    if (most == 0)
        return static_cast<int>(std::min<std::int64_t>(
            std::int64_t{base} + std::uniform_int_distribution<>(0, base - 1)(random_), INT_MAX));
    if (interval_ms_ == 0)
        return std::min(base, most);
    return interval_ms_ > most / 2 ? most : interval_ms_ * 2;
}

bool dialer::retry()
{
    if (options_->reconnect_interval_ms <= 0)
        return false;
    interval_ms_ = next_interval_ms();
    timer_.expires_after(std::chrono::milliseconds(interval_ms_));
    timer_.async_wait([self = shared_from_this()](const transport::error_code& error) {
        if (!error && self->connected_)
            self->attempt();
    });
    return true;
}

void dialer::stop() noexcept
{
    connected_ = nullptr;
    timer_.cancel();
    if (attempt_)
        std::exchange(attempt_, nullptr)->cancel();
}

} // namespace zlink::core
