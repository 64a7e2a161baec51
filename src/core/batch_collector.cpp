// SPDX-License-Identifier: Apache-2.0
#include "core/batch_collector.hpp"

#include <algorithm>
#include <utility>

namespace zlink::core {
namespace {

constexpr std::chrono::microseconds shortest_interval{50};
constexpr std::chrono::microseconds longest_interval{200};

} // namespace

void batch_collector::begin(collect_function collect)
{
    if (std::exchange(running_, true))
        return;
    interval_ = shortest_interval;
    schedule(std::move(collect));
}

void batch_collector::schedule(collect_function collect)
{
    if (!timer_)
        timer_.emplace(io_);
    timer_->expires_after(interval_);
    timer_->async_wait([this, collect = std::move(collect)](const auto& error) mutable {
        if (error || !running_)
            return;
        const bool more = collect();
        running_ = running_ && more;
        if (!running_)
            return;
        interval_ = std::min(interval_ * 2, longest_interval);
        schedule(std::move(collect));
    });
}

void batch_collector::stop() noexcept
{
    running_ = false;
    timer_.reset();
}

} // namespace zlink::core
