// SPDX-License-Identifier: Apache-2.0
#include "core/connection/heartbeat_timer.hpp"

#include <new>

namespace zlink::core {
namespace {

auto now() noexcept
{
    return engine::heartbeat::clock::now();
}

} // namespace

void heartbeat_timer::start(const engine::heartbeat_settings& settings, std::shared_ptr<void> owner)
{
    heartbeat_ = std::make_unique<engine::heartbeat>(settings, began_);
    schedule(std::move(owner));
}

void heartbeat_timer::stop() noexcept
{
    heartbeat_.reset();
    timer_.reset();
}

void heartbeat_timer::ping_received(std::chrono::milliseconds ttl, std::shared_ptr<void> owner)
{
    if (!heartbeat_)
        heartbeat_ = std::make_unique<engine::heartbeat>(engine::heartbeat_settings{}, began_);
    heartbeat_->ping_received(ttl, now());
    schedule(std::move(owner));
}

void heartbeat_timer::ping_sent() noexcept
{
    heartbeat_->ping_sent(now());
}

void heartbeat_timer::pause(std::shared_ptr<void> owner)
{
    if (!heartbeat_)
        return;
    heartbeat_->pause(now());
    schedule(std::move(owner));
}

void heartbeat_timer::resume(std::shared_ptr<void> owner)
{
    heartbeat_->resume(now());
    schedule(std::move(owner));
}

void heartbeat_timer::schedule(std::shared_ptr<void> owner)
{
    const auto deadline = heartbeat_->deadline();
    if (!deadline || (timer_ && timer_->expiry() <= *deadline))
        return;
    timer_ = std::make_unique<boost::asio::steady_timer>(io_, *deadline);
    timer_->async_wait([this, owner = std::move(owner)](const auto& error) {
        if (error || !heartbeat_)
            return;
        try {
            beat(owner);
        } catch (const std::bad_alloc&) { // nobody would judge the peer any more
            due_(action::dead);
        }
    });
}

void heartbeat_timer::beat(std::shared_ptr<void> owner)
{
    timer_.reset();
    if (const action what = heartbeat_->due(now()); what != action::none)
        due_(what);
    if (heartbeat_)
        schedule(std::move(owner));
}

} // namespace zlink::core
