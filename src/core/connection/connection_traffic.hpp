// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/connection_life.hpp"
#include "core/connection/connection_report.hpp"
#include "core/connection/keepalive.hpp"
#include "core/connection/link.hpp"
#include "core/connection/opening_setup.hpp"
#include "core/connection/reader.hpp"
#include "core/connection/subscription_relay.hpp"
#include "core/pipe/pipe.hpp"

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace zlink::core {

/// The session of a traffic. Everything in the I/O thread.
class traffic_owner {
public:
    virtual ~traffic_owner() = default;
    /// The connection is to be ended: it is broken, or the peer `broke_protocol`. Throws
    /// std::bad_alloc.
    virtual void connection_lost(bool broke_protocol) = 0;
    /// Nothing more can be written. read_rest() is to be called soon, but not from within: this may
    /// be in the middle of reading.
    virtual void output_failed() = 0;
    /// Something was written, perhaps all there is.
    virtual void output_written() = 0;
    /// The socket is to be told pipe_end::writable or pipe_end::leased, if it knows the pipe.
    virtual void tell_socket(std::uint32_t events) noexcept = 0;
    /// There was no memory: the connection is to be ended as if it were broken.
    virtual void out_of_memory() noexcept = 0;
    /// What keeps the traffic alive.
    virtual std::shared_ptr<void> hold() = 0;
};

/// The messages and commands of a session's connections, one connection after the other: writes
/// what its link has queued, reads what comes for the socket, waits for the stream, and keeps the
/// connection alive. connection_life says whether there is traffic, and whether the socket still
/// wants what comes.
///
/// Thread safety: the I/O thread only, but for the constructor.
/// Lifetime: what the constructor refers to must last as long as this, a stream until stop().
class connection_traffic final : public link_owner,
                                 private engine::command_handler,
                                 private kept_connection {
public:
    connection_traffic(boost::asio::io_context& io, std::shared_ptr<const socket_options> options,
                       const connection_life& life, connection_report& report,
                       traffic_owner& owner);

    /// The pipe of the connections that follow has this link: serves it from now on.
    void use(std::shared_ptr<link> pipe_link) noexcept;
    bool has_link() const noexcept { return link_ != nullptr; }
    /// Serves the link no more.
    void stop_serving() noexcept;
    /// The same for a session that has never begun. Any thread, as nobody asks it for anything.
    void abandon() noexcept
    {
        if (link_)
            link_->set_owner(nullptr);
    }
    /// The same, and the socket gets nothing more: the next connection has another pipe.
    void leave_link() noexcept;

    /// A connection whose opening has succeeded.
    struct connection {
        const opening::ending& opened;
        transport::stream& stream;
        std::shared_ptr<pipe_end> pipe;     ///< the socket's end of the pipe, which has the link
        bool plain_bytes;                   ///< see exchanges_plain_bytes()
        std::size_t packet_bytes;           ///< see transport::stream_info
        subscription_source* subscriptions; ///< what the socket subscribes to; may be null
    };
    /// The traffic begins, ahead of all messages with hello, subscriptions and PING. Calls
    /// `announce` when the socket may be told of it; from then on it sends through the link. Only
    /// with a link. Throws std::bad_alloc.
    void begin(const connection& how, const std::function<void()>& announce);
    /// After begin(), once all who hear of the connection have been told: writes what is queued,
    /// and reads. Throws std::bad_alloc.
    void run(const opening::ending& opened);
    /// The connection has gone, or goes: writes and reads no more. Before the stream is closed, as
    /// the socket's thread may be using it.
    void stop();
    /// After that: nothing is waited for any more.
    void stop_waiting() noexcept;
    /// Tells the peer why the connection ends, if the wire has a frame for that. Before stop().
    void say_farewell(engine::farewell why) noexcept { link_->out().say_farewell(why); }
    /// Is everything written that the socket has committed, or is there no pipe for it?
    bool drained() { return !link_ || link_->out().drained(); }
    /// Writes no more, and the socket is not told of any room.
    void detach() noexcept
    {
        if (link_)
            link_->out().detach();
    }
    /// Drops what is queued: the application has its memory back now, not some time later.
    void discard();

    /// Writes what is queued, then calls traffic_owner::output_written(); the latter later on.
    void drain();
    void drain_later() noexcept { link_->ask_later(link::request::drain); }
    /// Reads what is there, or what comes while nobody wants it.
    void read();
    /// After output_failed(): reads what the peer has sent before the connection broke, and ends
    /// the connection.
    void read_rest();
    /// Reads what has come by now, as the peer does not send it again.
    void read_last() noexcept;
    /// What comes means nothing from now on. Throws std::bad_alloc.
    void input_means_nothing() { keepalive_.input_means_nothing(); }
    /// Does silence of the peer end the connection?
    bool judges_peer() const noexcept { return keepalive_.judges(); }
    /// For the notices between the messages.
    core::incoming& incoming() noexcept { return in_.incoming(); }

    // link_owner
    void serve(link::request what) override;

private:
    /// For the stream, in one direction.
    struct pending_wait {
        bool pending = false;
        unsigned number = 0; ///< goes up when a wait is forgotten: its late end is ignored

        void forget() noexcept
        {
            pending = false;
            ++number;
        }
    };

    // engine::command_handler
    void on_command(std::span<const std::byte> body) override;

    // kept_connection
    void send_command(const engine::traffic_command& command) override;
    bool control_waits() override { return link_->out().control_waits(); }
    std::size_t bytes_on_wire(const engine::traffic_command& command) override
    {
        return link_->out().bytes_on_wire(command);
    }
    engine::sending_progress::state progress() override { return link_->out().progress(); }
    void end_connection() noexcept override;
    std::shared_ptr<void> timer_owner() override { return owner_.hold(); }

    /// The body of a handler: if it runs out of memory, the connection ends.
    template <class Body>
    void attempt(Body body) noexcept;
    bool has_traffic() const noexcept { return life_.has_traffic(); }
    reader::pulse pulse()
    {
        return {keepalive_.timer(), [this] { return owner_.hold(); }};
    }
    std::shared_ptr<connection_traffic> held() { return {owner_.hold(), this}; }
    void attach(const connection& how, engine::wire wire, const std::function<void()>& announce);
    void begin_reading(const opening::ending& opened);
    void tell_of_room() noexcept { owner_.tell_socket(pipe_end::writable); }
    void end_writing() noexcept;
    void handle(plan rest);
    void follow(reader::status read);
    void lost_by(reader::status read);
    void grant_lease();
    void watch_reading();
    void wait(transport::direction which);

    const std::shared_ptr<const socket_options> options_;
    const connection_life& life_;
    connection_report& report_;
    traffic_owner& owner_;
    std::shared_ptr<link> link_; ///< of the pipe; ahead of the reader, which uses its channel
    reader in_;
    keepalive keepalive_;
    std::unique_ptr<subscription_relay> relay_; ///< of a socket that subscribes
    transport::stream* stream_ = nullptr;       ///< from begin() to stop_waiting()
    pending_wait input_wait_;
    pending_wait room_wait_;
};

} // namespace zlink::core
