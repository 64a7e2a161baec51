// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/heartbeat.hpp"

#include <algorithm>
#include <utility>

namespace zlink::engine {
namespace {

// Who was behind with reading sends so many PONGs in the time in which the peer sends one PING: it
// may wait for a shorter time than that.
constexpr int pongs_for_ping = 4;
constexpr std::chrono::milliseconds shortest_pong_interval{5};

} // namespace

heartbeat::heartbeat(const heartbeat_settings& settings, clock::time_point began) noexcept
    : interval_(settings.interval_ms),
      timeout_(settings.timeout_ms < 0 ? settings.interval_ms : settings.timeout_ms),
      last_ping_received_(began)
{
    if (settings.interval_ms > 0)
        next_ping_ = began + interval_;
}

heartbeat::action heartbeat::due(clock::time_point now) noexcept
{
    const auto passed = [now](const time_limit& limit) { return limit && *limit <= now; };
    if (!paused_ && passed(ttl_deadline_))
        return action::dead;
    if (!paused_ && passed(answer_deadline_))
        return action::unanswered;
    const bool pong = passed(next_pong_);
    if (pong)
        next_pong_ = now + pong_interval_;
    if (!passed(next_ping_))
        return pong ? action::pong : action::none;
    next_ping_ = now + interval_;
    return action::ping; // which shows as well that we live
}

std::optional<heartbeat::clock::time_point> heartbeat::deadline() const noexcept
{
    time_limit first;
    const auto consider = [&first](const time_limit& limit) {
        if (limit)
            first = first ? std::min(*first, *limit) : *limit;
    };
    consider(next_ping_);
    consider(next_pong_);
    if (!paused_) {
        consider(answer_deadline_);
        consider(ttl_deadline_);
    }
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
    // Neither those that were read late, perhaps several at once, nor those for which the peer had
    // no room for a while say anything of the time between them.
    const auto interval = (now - std::exchange(last_ping_received_, now)) / pongs_for_ping;
    const bool in_time = !std::exchange(was_behind_, behind_);
    if (pong_interval_.count() == 0)
        pong_interval_ = shortest_pong_interval;
    if (in_time && interval > pong_interval_ / pongs_for_ping)
        pong_interval_ = std::max<clock::duration>(interval, shortest_pong_interval);
    if (!behind_)
        next_pong_.reset();
    if (ttl.count() == 0)
        return;
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

void heartbeat::pause(clock::time_point now) noexcept
{
    if (std::exchange(paused_, true))
        return;
    behind_ = true;
    was_behind_ = true;
    // Who reads a little between one pause and the next still owes the peer a sign.
    if (pong_interval_.count() != 0 && !next_pong_)
        next_pong_ = now + pong_interval_;
}

void heartbeat::resume(clock::time_point now) noexcept
{
    paused_ = false;
    progressed(now);
}

} // namespace zlink::engine
