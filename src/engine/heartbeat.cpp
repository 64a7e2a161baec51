// SPDX-License-Identifier: Apache-2.0
#include "engine/heartbeat.hpp"

#include <algorithm>

namespace zlink::engine {

heartbeat::heartbeat(const heartbeat_settings& settings, clock::time_point now) noexcept
    : interval_(settings.interval_ms),
      timeout_(settings.timeout_ms < 0 ? settings.interval_ms : settings.timeout_ms)
{
    if (settings.interval_ms > 0)
        next_ping_ = now + interval_;
}

heartbeat::action heartbeat::due(clock::time_point now) noexcept
{
    const auto passed = [now](const time_limit& limit) { return limit && *limit <= now; };
    if (!paused_ && (passed(answer_deadline_) || passed(ttl_deadline_)))
        return action::dead;
    if (!passed(next_ping_))
        return action::none;
    next_ping_ = now + interval_;
    return action::ping;
}

std::optional<heartbeat::clock::time_point> heartbeat::deadline() const noexcept
{
    time_limit first = next_ping_;
    if (paused_)
        return first;
    for (const time_limit& limit : {answer_deadline_, ttl_deadline_})
        if (limit)
            first = first ? std::min(*first, *limit) : *limit;
    return first;
}

void heartbeat::ping_sent(clock::time_point now) noexcept
{
    // An earlier PING without an answer keeps its limit: more questions do not buy time.
    if (timeout_.count() > 0 && !answer_deadline_)
        answer_deadline_ = now + timeout_;
}

void heartbeat::ping_received(std::chrono::milliseconds ttl, clock::time_point now) noexcept
{
    ttl_ = ttl;
    ttl_deadline_ = now + ttl;
}

void heartbeat::progressed(clock::time_point now) noexcept
{
    if (answer_deadline_)
        answer_deadline_ = now + timeout_;
    if (ttl_deadline_)
        ttl_deadline_ = now + ttl_;
}

void heartbeat::resume(clock::time_point now) noexcept
{
    paused_ = false;
    progressed(now);
}

} // namespace zlink::engine
