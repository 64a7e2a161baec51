// SPDX-License-Identifier: Apache-2.0
#include "core/connection/delivery_wait.hpp"

#include <new>
#include <utility>

namespace zlink::core {
namespace {

constexpr std::chrono::milliseconds interval{1};
constexpr std::chrono::seconds longest_stall{2};

} // namespace

void delivery_wait::begin(remaining_function remaining, end_function end, limit how_long)
{
    progress_ = std::chrono::steady_clock::now();
    remaining_bytes_ = 0;
    try {
        look(remaining, end, how_long);
    } catch (const std::bad_alloc&) {
        timer_.reset();
        throw;
    }
}

void delivery_wait::end_after(std::chrono::milliseconds linger_time, end_function end)
{
    linger_timer_ = std::make_unique<boost::asio::steady_timer>(io_, linger_time);
    linger_timer_->async_wait([end = std::move(end)](const auto& error) {
        if (!error)
            end();
    });
}

void delivery_wait::look(const remaining_function& remaining, const end_function& end,
                         limit how_long)
{
    const std::size_t now_remaining = remaining();
    const auto now = std::chrono::steady_clock::now();
    if (std::exchange(remaining_bytes_, now_remaining) != now_remaining)
        progress_ = now;
    if (now_remaining == 0 || (how_long == limit::short_stall && now - progress_ >= longest_stall))
        return end();
    if (!timer_)
        timer_ = std::make_unique<boost::asio::steady_timer>(io_);
    timer_->expires_after(interval);
    timer_->async_wait([this, remaining, end, how_long](const auto& error) {
        if (error || !timer_)
            return;
        try {
            look(remaining, end, how_long);
        } catch (const std::bad_alloc&) {
            timer_.reset();
            end();
        }
    });
}

} // namespace zlink::core
