// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/heartbeat.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace zlink::core {

/// The heartbeats of one connection after the other, if this side or the peer wants any: gives
/// engine::heartbeat the time, and says when something is due.
///
/// Invariant: while there are heartbeats the timer runs out at their deadline or before it.
/// Received bytes do not touch it: one that has become too early finds nothing due.
///
/// Thread safety: the I/O thread only.
/// Lifetime: `owner`, where it is asked for, is kept alive while the timer runs, and keeps this and
/// the I/O context until stop().
class heartbeat_timer {
public:
    using action = engine::heartbeat::action;

    /// `due` is called with each action but `none`; it may call stop().
    heartbeat_timer(boost::asio::io_context& io, std::function<void(action)> due) noexcept
        : io_(io), due_(std::move(due))
    {}

    /// Is there something to conclude from what the peer sends, or from its silence?
    bool judges() const noexcept { return heartbeat_ && heartbeat_->judges(); }
    /// A connection begins; the peer may want heartbeats.
    void begin() noexcept { began_ = engine::heartbeat::clock::now(); }
    /// This side wants heartbeats; after begin().
    void start(const engine::heartbeat_settings& settings, std::shared_ptr<void> owner);
    /// The connection has gone, or nothing of it matters any more.
    void stop() noexcept;

    /// The peer has sent a PING; it may be the only one to want heartbeats.
    void ping_received(std::chrono::milliseconds ttl, std::shared_ptr<void> owner);
    /// A PING was handed to the connection.
    void ping_sent() noexcept;
    /// Is an answer awaited, or what the peer has promised?
    bool awaits() const noexcept { return heartbeat_ && heartbeat_->awaits(); }
    bool awaits_answer() const noexcept { return heartbeat_ && heartbeat_->awaits_answer(); }
    /// Bytes came in: see engine::heartbeat::progressed().
    void progressed() noexcept
    {
        if (awaits())
            heartbeat_->progressed(engine::heartbeat::clock::now());
    }
    /// A frame has come.
    void received() noexcept
    {
        if (heartbeat_)
            heartbeat_->received();
    }
    /// Nothing is read for the time being.
    void pause(std::shared_ptr<void> owner);
    bool paused() const noexcept { return heartbeat_ && heartbeat_->paused(); }
    /// Reading goes on; only if paused().
    void resume(std::shared_ptr<void> owner);
    /// Everything that has come was read.
    void caught_up() noexcept
    {
        if (heartbeat_)
            heartbeat_->caught_up();
    }

private:
    void schedule(std::shared_ptr<void> owner);
    void beat(std::shared_ptr<void> owner);

    boost::asio::io_context& io_;
    const std::function<void(action)> due_;
    engine::heartbeat::clock::time_point began_;       ///< the connection
    std::unique_ptr<engine::heartbeat> heartbeat_;     ///< if there are any: seldom
    std::unique_ptr<boost::asio::steady_timer> timer_; ///< while it is running
};

} // namespace zlink::core
