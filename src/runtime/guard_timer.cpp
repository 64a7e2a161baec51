// SPDX-License-Identifier: Apache-2.0
#include "runtime/guard_timer.hpp"

#include "base/tuning.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace zlink::runtime {

guard_timer::guard_timer(boost::asio::execution_context& io)
    : service(io), timer_(static_cast<boost::asio::io_context&>(io))
{}

void guard_timer::watch(boost::asio::io_context& io, std::shared_ptr<guarded> what)
{
    boost::asio::post(io, [&io, what = watched(std::move(what))]() mutable {
        boost::asio::use_service<guard_timer>(io).begin(std::move(what));
    });
}

void guard_timer::shutdown() noexcept
{
    timer_.reset();
    all_.clear();
}

void guard_timer::begin(watched what)
{
    all_.push_back(std::move(what));
    interval_ = base::tuning::batching::max_delay;
    schedule();
}

// Takes the place of what was scheduled before.
void guard_timer::schedule()
{
    try {
        timer_->expires_after(interval_);
        timer_->async_wait([this](const auto& error) {
            if (!error)
                look_after_all();
        });
    } catch (...) {
        all_.clear(); // nobody would come again
        throw;
    }
}

void guard_timer::look_after_all()
{
    interval_ = std::min(interval_ * 2, base::tuning::batching::max_guard_interval);
    std::erase_if(all_, [](watched& each) { return !each.look_after(); });
    if (!all_.empty())
        schedule();
}

} // namespace zlink::runtime
