// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/connection/connection_traffic.hpp"
#include "core/connection/delivery_wait.hpp"
#include "core/connection/dialer.hpp"
#include "core/connection/endpoint_status.hpp"
#include "core/connection/socket_side.hpp"
#include "core/pipe/pipe.hpp"
#include "core/pipe/shared_text.hpp"
#include "runtime/io_thread.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace zlink::core {

/// The I/O side of a pipe: owns the connection that carries it, runs the handshake and moves the
/// traffic. A session made by a listener ends with its connection; one made by zmq_connect keeps
/// the pipe and connects anew.
///
/// Thread safety: everything belongs to the session's I/O thread, except the constructors and what
/// is marked otherwise: that only asks the I/O thread, see ask(). Other threads write and read the
/// connection through the link.
/// Lifetime: keeps itself alive while it works; the socket's pipe end refers to it as well.
class session final : public pipe_peer,
                      public runtime::resident,
                      public dialing_owner,
                      private traffic_owner,
                      public std::enable_shared_from_this<session> {
public:
    /// For a connection that was accepted.
    session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
            std::shared_ptr<const socket_options> options, shared_text endpoint,
            const transport_row& transport, transport::upgrades through,
            transport::acceptor::result accepted);
    /// For a connection to be made.
    session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
            std::shared_ptr<const socket_options> options, shared_text endpoint,
            const transport_row& transport, std::shared_ptr<transport::connect_endpoint> address);
    ~session() override;

    /// Creates the pipe, for a socket that has it from the beginning (IMMEDIATE=0). The socket's
    /// thread, before start(). Throws std::bad_alloc, and there is none.
    std::shared_ptr<pipe_end> make_pipe();
    /// Any thread: begins.
    void start() noexcept { ask(request::begin); }
    /// The socket's thread: the socket wants no more of it. See pipe_ending::closed.
    void close(int linger_ms) noexcept;
    /// Any thread. Giving up is counted by socket_side::endpoints_given_up.
    const endpoint_status& status() const noexcept { return status_; }
    /// Any thread: zmq_disconnect was called; may end the attempts to connect, if it was made so.
    void stop_if_disconnected() noexcept;

    /// Any thread: ends the connection unless its handshake is done. After that the socket has the
    /// pipe, and closes it.
    void close_before_traffic() noexcept { ask(request::close_before_traffic); }

    // pipe_peer: the socket's thread
    void on_ended(pipe_ending how, int linger_ms) noexcept override;

    // runtime::resident
    void do_request(unsigned number) override;

private:
    session(runtime::io_thread& thread, std::shared_ptr<socket_side> side,
            std::shared_ptr<const socket_options> options, shared_text endpoint,
            shared_text told_endpoint, const transport_row& transport, bool was_accepted);
    enum class loss : std::uint8_t { connection, protocol };
    bool has_traffic() const noexcept { return life_.has_traffic(); }
    /// What is asked of the I/O thread, by it or another; done in this order.
    enum class request : unsigned {
        recover,
        begin,
        go_on_dialing,
        stop_reconnecting,
        read_rest,
        read_last,
        refuse,
        close_before_traffic,
        close_after_output,
        close
    };
    void do_what_is_asked(request what);
    /// The body of a handler in the I/O thread: if it runs out of memory, the connection ends.
    template <class Body>
    void attempt(Body body) noexcept;
    void recover() noexcept;
    void begin();
    void connected(std::unique_ptr<transport::stream> stream) noexcept override;
    void dialing(std::uint64_t event, int value) noexcept override;
    void dialing_is_stuck() noexcept override;
    void begin_opening();
    void create_pipe();
    void prepare_opening(transport::upgrades upgrades);
    void pass_on();
    void reached();
    void end_opening(const opening::ending& how);
    void unreached(int error);
    int drop_unreached();
    void stop_opening() noexcept;
    void begin_traffic(const opening::ending& how);

    // traffic_owner
    void connection_lost(bool broke_protocol) override
    {
        lost(broke_protocol ? loss::protocol : loss::connection);
    }
    void output_failed() override;
    void output_written() override { finish_if_drained(); }
    void tell_socket(std::uint32_t events) noexcept override;
    void out_of_memory() noexcept override { recover(); }
    std::shared_ptr<void> hold() override { return shared_from_this(); }

    void read_last();
    void lost(loss why);
    void tell_of_loss(const connection_life::after_loss& after, loss why);
    void drop_connection() noexcept;
    void refuse();
    void end_before_traffic();
    void leave_pipe() noexcept;
    void give_up();
    void leave_endpoint(endpoint_status::end how) noexcept;
    void stop_reconnecting();
    void end_by(connection_life::event why, request again, int linger_ms);
    void deliver_and_finish(int linger_ms);
    void finish_if_drained();
    void finish();
    void ask(request what) noexcept;

    runtime::io_thread& thread_;
    boost::asio::io_context& io_;
    std::shared_ptr<socket_side> side_; ///< until finish(): the context waits for it
    const std::shared_ptr<const socket_options> options_;
    const shared_text endpoint_;

    // the pipe
    std::shared_ptr<pipe_end> socket_end_;
    bool announced_ = false; ///< the socket has the pipe, or has been told of it

    // the connection
    std::shared_ptr<dialer> dialer_; ///< if it is made, not accepted
    const transport_row& transport_;
    connection_life life_;
    std::unique_ptr<transport::stream> stream_;
    connection_report report_;
    std::shared_ptr<opening> opening_; ///< while it lasts
    connection_traffic traffic_;

    // the end
    delivery_wait delivery_;
    endpoint_status status_;
};

} // namespace zlink::core
