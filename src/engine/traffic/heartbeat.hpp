// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace zlink::engine {

/// The heartbeat options of a socket.
struct heartbeat_settings {
    int interval_ms = 0; ///< between the PINGs sent, 0 = none are sent
    int timeout_ms = -1; ///< for the answer to a PING; 0 = unlimited, -1 = as long as the interval
    int ttl_ms = 0;      ///< what our PINGs ask of the peer, 0 = nothing; whole tenths of a second

    bool operator==(const heartbeat_settings&) const = default;
};

/// Decides when a connection has to send PING and when the silence of the peer means that the
/// connection is dead. Sans I/O: its owner says what happens and what time it is, and asks again
/// when deadline() has come.
///
/// Whatever is received proves that the peer lives, not only PONG: a frame ends the wait, and a
/// part of one prolongs it, as a large one may take long.
///
/// Thread safety: none of its own; the I/O thread of the connection uses it.
class heartbeat {
public:
    using clock = std::chrono::steady_clock;
    enum class action : std::uint8_t {
        none,       ///< nothing is due yet
        ping,       ///< send PING now, and call ping_sent()
        pong,       ///< send a PONG that nobody has asked for: the peer must hear that we live
        unanswered, ///< no answer to a PING within the time-out: the peer is dead, unless there
                    ///< are other signs of life; call progressed() then
        dead,       ///< the peer has not kept to its own time to live
    };

    /// For a connection whose traffic phase began at `began`.
    heartbeat(const heartbeat_settings& settings, clock::time_point began) noexcept;

    /// What is due at `now`. A PING is due once per interval, late ones are not made up for.
    action due(clock::time_point now) noexcept;
    /// When due() is worth asking again; nothing = only after another event. Received bytes do not
    /// change it in the sense that asking too early is harmless.
    std::optional<clock::time_point> deadline() const noexcept;

    /// A PING was handed to the connection: from now on the answer is awaited.
    void ping_sent(clock::time_point now) noexcept;
    /// Bytes came in, if only some of a frame: what is awaited gets its full time again. Call
    /// before what they are is reported.
    void progressed(clock::time_point now) noexcept;
    /// Is there silence that would mean death?
    bool awaits() const noexcept { return answer_deadline_ || ttl_deadline_; }
    /// Is there a PING without an answer?
    bool awaits_answer() const noexcept { return answer_deadline_.has_value(); }
    /// A frame has come.
    void received() noexcept
    {
        answer_deadline_.reset();
        ttl_deadline_.reset();
    }
    /// The peer sent a PING; `ttl`: how long it will not be silent from now on, 0 = it does not
    /// say.
    void ping_received(std::chrono::milliseconds ttl, clock::time_point now) noexcept;
    /// Is there something to conclude from what comes, or does only the peer want heartbeats?
    bool judges() const noexcept { return interval_.count() > 0 || ttl_.count() > 0; }

    /// Nothing is read for the time being, so that nothing can be concluded from silence. PINGs of
    /// the peer cannot be answered either: from now on it is sent a PONG now and then, if it has
    /// sent any PING, until the next one comes after caught_up().
    void pause(clock::time_point now) noexcept;
    /// Reading goes on; what was awaited gets its full time again.
    void resume(clock::time_point now) noexcept;
    bool paused() const noexcept { return paused_; }
    /// Everything that has come was read. PINGs may still be under way behind much else.
    void caught_up() noexcept { behind_ = false; }

private:
    using time_limit = std::optional<clock::time_point>;

    const std::chrono::milliseconds interval_;
    const std::chrono::milliseconds timeout_; ///< 0 = unlimited
    time_limit next_ping_;
    time_limit answer_deadline_;
    time_limit ttl_deadline_;
    std::chrono::milliseconds ttl_{0}; ///< of the peer's last PING
    bool paused_ = false;
    bool behind_ = false;                  ///< since a pause
    bool was_behind_ = false;              ///< at any time since the last PING
    clock::time_point last_ping_received_; ///< or the beginning
    clock::duration pong_interval_{0};     ///< several in the time between the peer's PINGs
    time_limit next_pong_;                 ///< from a pause until a PING came in time
};

} // namespace zlink::engine
