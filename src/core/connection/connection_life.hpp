// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zlink::core {

/// The life of a session as a state machine without I/O: how far its connection is, what the socket
/// still wants of it, and whether another connection may follow. The session tells it what happens
/// and does what it answers.
///
/// Thread safety: the I/O thread only.
class connection_life {
public:
    enum class phase : std::uint8_t {
        idle,       ///< Nothing has begun.
        connecting, ///< There is no connection. The dialer makes one, at once or after a while.
        reaching, ///< There is a connection, but not to the peer: an upgrade (a proxy) leads there.
        opening,  ///< There is a connection to the peer: upgrades and handshake.
        traffic,
        cut_off, ///< Traffic, but writing has failed: what the peer has sent is still to be read.
        lost,    ///< The connection has gone, and this is being told.
        ended,   ///< Nothing happens any more.
    };
    /// What the socket wants of the session.
    enum class wish : std::uint8_t {
        connection,  ///< It uses the pipe.
        output,      ///< It sends nothing more. The session ends once all is delivered, or with the
                     ///< connection, and the socket keeps the pipe until it is told so.
        last_output, ///< The same, but the socket has closed the pipe: its linger time counts.
        delivery,    ///< It has closed the pipe. What it has sent is delivered within its linger
                     ///< time, by another connection if need be.
    };
    enum class event : std::uint8_t {
        begin,             ///< The session begins.
        connected,         ///< The dialer has made a connection.
        gave_up,           ///< The dialer will make no other connection.
        reached,           ///< The connection leads to the peer.
        opened,            ///< Upgrades and handshake have succeeded.
        output_failed,     ///< Nothing more can be written to the connection.
        retry,             ///< The connection has gone; the dialer is to make another one.
        stop_reconnecting, ///< zmq_disconnect, where that ends the attempts to connect.
        end_output,        ///< The socket sends nothing more.
        close,             ///< The socket has closed the pipe.
        refuse,            ///< The socket does not want this peer now.
        drained,           ///< All that was sent is written.
        end,               ///< The session ends, whatever there is still to do.
    };
    /// What the session is to do.
    enum class action : std::uint8_t {
        none,
        dial,           ///< Start the dialer.
        open,           ///< Begin upgrades and handshake.
        read_rest,      ///< Read what the peer has sent, then end the connection.
        give_up,        ///< There is no connection, and none will be made: tell the socket, finish.
        deliver,        ///< Deliver what was sent, then finish.
        await_delivery, ///< Wait until the peer has what was written, then finish.
        refuse_peer,    ///< End the connection, and give up the pipe.
        leave_pipe,     ///< Give up the pipe: the next connection gets a new one.
        finish,         ///< End everything.
    };

    /// `makes_connections`: the session connects; else it has one connection, which was accepted.
    explicit connection_life(bool makes_connections) noexcept
        : makes_connections_(makes_connections)
    {}

    phase at() const noexcept { return phase_; }
    bool has_ended() const noexcept { return phase_ == phase::ended; }
    /// Has the handshake succeeded, and is there still a connection?
    bool has_traffic() const noexcept
    {
        return phase_ == phase::traffic || phase_ == phase::cut_off;
    }
    /// Is there a connection, or one whose end is being told?
    bool has_connection() const noexcept
    {
        return phase_ >= phase::reaching && phase_ <= phase::lost;
    }
    /// Does the socket use what comes? If not, it is also told of nothing.
    bool is_wanted() const noexcept { return wish_ == wish::connection; }
    /// Has the socket, while it keeps the pipe, said that it sends nothing more?
    bool ends_with_output() const noexcept
    {
        return wish_ == wish::output || wish_ == wish::last_output;
    }

    /// Something has happened. What is impossible in a phase, or means nothing there, changes
    /// nothing and asks for nothing.
    action resume(event what) noexcept;

    /// What a connection was lost by, and what decides about another one.
    struct loss {
        bool breaks_protocol = false; ///< the peer's fault; an endpoint never does after that
        bool may_retry = false;       ///< the options want another try after a loss like this
        bool has_pipe = false;        ///< the socket has the pipe
        bool new_pipe_each = false;   ///< ZMQ_IMMEDIATE: a pipe lives with its connection
    };
    /// What follows a loss.
    struct after_loss {
        enum class next : std::uint8_t {
            finish,              ///< The pipe and the session end.
            retry,               ///< Another connection goes on with the pipe.
            retry_with_new_pipe, ///< The pipe ends, and another connection gets a new one.
        };
        next then = next::finish;
        bool tells_application = false; ///< by notices: there was traffic, and the socket listens
        bool tells_monitor = false;
        bool gives_up = false; ///< the socket may connect to the endpoint again

        bool retries() const noexcept { return then != next::finish; }
        bool ends_pipe() const noexcept { return then != next::retry; }
    };
    /// The connection is lost: the phase is `lost` until the event `retry` or `end`.
    after_loss lose(const loss& how) noexcept;

    /// A wish could not be followed as there is no memory; it will be told again.
    void restore(wish before) noexcept { wish_ = before; }
    wish wanted() const noexcept { return wish_; }

private:
    struct transition;
    after_loss::next next_after(const loss& how) const noexcept;

    const bool makes_connections_;
    bool may_reconnect_ = true;
    phase phase_ = phase::idle;
    wish wish_ = wish::connection;
};

} // namespace zlink::core
