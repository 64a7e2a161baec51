// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/heartbeat_timer.hpp"
#include "engine/commands/traffic_commands.hpp"
#include "engine/traffic/sending_progress.hpp"

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace zlink::core {

/// A connection as its keepalive sees it. Everything in the I/O thread.
class kept_connection {
public:
    virtual ~kept_connection() = default;
    /// Sends the command at the next message boundary. It may end the connection, and with that the
    /// heartbeats. Throws std::bad_alloc.
    virtual void send_command(const engine::traffic_command& command) = 0;
    /// Has a command that was sent before not been written yet?
    virtual bool control_waits() = 0;
    /// How many bytes of the connection the command takes.
    virtual std::size_t bytes_on_wire(const engine::traffic_command& command) = 0;
    /// How far the peer has got with what was written.
    virtual engine::sending_progress::state progress() = 0;
    /// The peer is dead, or there is no memory to find out: the connection is to be ended.
    virtual void end_connection() noexcept = 0;
    /// What the timer keeps alive while it runs.
    virtual std::shared_ptr<void> timer_owner() = 0;
};

/// Keeps the connections of a session alive, one after the other: sends PING as the options of the
/// socket say, answers those of the peer, and ends a connection whose peer is dead. The rules are
/// those of engine::heartbeat and engine::sending_progress, the time that of heartbeat_timer.
///
/// Thread safety: the I/O thread only.
/// Lifetime: settings and connection must last as long as this.
class keepalive {
public:
    using action = heartbeat_timer::action;

    keepalive(boost::asio::io_context& io, const engine::heartbeat_settings& settings,
              kept_connection& connection);

    /// The reader tells it what comes.
    heartbeat_timer& timer() noexcept { return timer_; }
    const heartbeat_timer& timer() const noexcept { return timer_; }

    /// Appends the first PING of a connection to the frames that go ahead of all messages, if it
    /// sends any. A receiver whose queue the messages fill must have seen before them that it is
    /// asked to tell that it lives. That the first PING is answered proves nothing, so nobody waits
    /// for it. `carries_commands`: the connection can carry PING and PONG.
    void append_first_ping(std::vector<std::byte>& frames, bool carries_commands) const;
    /// The traffic of a connection begins. Throws std::bad_alloc.
    void begin(bool carries_commands);
    /// The connection has gone.
    void stop() noexcept { timer_.stop(); }

    /// The peer has sent a command; a PING is answered. Throws std::bad_alloc.
    void command_received(std::span<const std::byte> body);
    /// Is there something to conclude from what the peer sends, or from its silence?
    bool judges() const noexcept { return timer_.judges(); }
    /// Is the connection read to its end, because silence means that the peer is dead? Otherwise
    /// nothing is read any more once what comes means nothing.
    bool listens_to_the_end() const noexcept { return settings_.interval_ms != 0; }
    /// What comes means nothing from now on. Throws std::bad_alloc.
    void input_means_nothing();

    /// Does what is due; the timer calls it. Throws std::bad_alloc.
    void due(action what);

private:
    bool sends_pings(bool carries_commands) const noexcept
    {
        return settings_.interval_ms != 0 && carries_commands;
    }
    engine::traffic_command ping() const noexcept;
    void send_ping();
    void send_pong(std::span<const std::byte> context);
    bool shows_progress();

    const engine::heartbeat_settings& settings_;
    kept_connection& connection_;
    heartbeat_timer timer_;
    std::unique_ptr<engine::sending_progress> progress_; ///< once a PING was sent
};

} // namespace zlink::core
