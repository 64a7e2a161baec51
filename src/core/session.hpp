// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dialer.hpp"
#include "core/pipe.hpp"
#include "core/socket_link.hpp"
#include "engine/handshake.hpp"
#include "engine/heartbeat.hpp"
#include "engine/inbound.hpp"
#include "engine/outbound.hpp"
#include "runtime/io_thread.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace zlink::core {

/// The I/O side of a pipe: owns the connection that carries it, runs the handshake and moves the
/// traffic. A session made by a listener ends with its connection; one made by zmq_connect keeps
/// the pipe and connects anew.
///
/// Thread safety: everything belongs to the session's I/O thread, except the constructor, start(),
/// close(), and the pipe_peer functions, which the socket's thread calls; of those only the writing
/// (engine::outbound guards it) and the reading in on_writable() that the I/O thread has offered
/// (reading_mutex_) touch the connection; the rest is posted to the I/O thread.
/// Lifetime: keeps itself alive while it works; the socket's pipe end refers to it as well.
class session final : public pipe_peer,
                      public engine::inbound::command_handler,
                      public std::enable_shared_from_this<session> {
public:
    /// For a connection that was accepted.
    session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
            std::shared_ptr<const socket_options> options, std::string endpoint,
            std::unique_ptr<transport::stream> accepted);
    /// For a connection to be made.
    session(runtime::io_thread& thread, std::shared_ptr<socket_link> link,
            std::shared_ptr<const socket_options> options, std::string endpoint,
            const transport::scheme& scheme, std::string address);
    ~session() override;

    /// Creates the pipe before there is a connection (IMMEDIATE=0); before start().
    std::shared_ptr<pipe_end> make_pipe();
    /// Any thread: begins.
    void start();
    /// Any thread: the socket wants no more of it. See pipe_peer::on_closed.
    void close(int linger_ms);

    /// Any thread: gives up if the handshake is not done; a pipe that was handed to the socket is
    /// the socket's to close.
    void close_unless_linked();

    // pipe_peer: the socket's thread
    wake_result on_readable() noexcept override;
    wake_result on_flush() noexcept override;
    void on_writable() noexcept override;
    void on_closed(int linger_ms) noexcept override { close(linger_ms); }
    std::size_t write_through(const iovec (&frame)[2]) noexcept override;

    // engine::inbound::command_handler
    void on_command(std::span<const std::byte> body) override;

private:
    enum class loss : std::uint8_t { connection, protocol };

    void begin();
    void begin_handshake(std::unique_ptr<transport::stream> stream);
    void pump_handshake();
    bool write_handshake();
    void end_handshake(std::span<const std::byte> rest);
    peer_info describe(const engine::remote_peer& remote) const;
    bool feed_rest(std::span<const std::byte> rest);
    void pass_on_received();
    void attach_outbound(std::span<const std::byte> first, const engine::remote_peer& remote,
                         const std::function<void()>& announce);

    void start_heartbeat(const engine::remote_peer& remote);
    void ping_received(std::chrono::milliseconds ttl);
    void resume_heartbeat();
    void schedule_heartbeat();
    void beat();
    void send_ping();

    void drain();
    wake_result after_direct(engine::outbound::outcome outcome) noexcept;
    void begin_collecting();
    void collect_deferred();
    void handle(engine::outbound::outcome outcome);
    void read();
    bool read_directly() noexcept;
    void offer_reading();
    void take_back_reading();
    void wait(transport::direction which);
    void lost(loss why);
    void give_up();
    engine::outbound& writer() noexcept { return *writer_.load(std::memory_order_acquire); }
    void begin_close(int linger_ms);
    void finish_if_drained();
    void finish();
    void post(void (session::*action)());

    runtime::io_thread& thread_;
    boost::asio::io_context& io_;
    std::shared_ptr<socket_link> link_; ///< until finish(): the context waits for it
    const std::shared_ptr<const socket_options> options_;
    const std::string endpoint_;

    std::shared_ptr<channel_pair>
        retired_; ///< of a pipe given up: out_ and in_ may still refer to it
    std::shared_ptr<channel_pair> channels_;
    std::shared_ptr<pipe_end> socket_end_;
    std::unique_ptr<engine::outbound> retired_out_;
    std::unique_ptr<engine::outbound> out_;
    std::atomic<engine::outbound*> writer_{nullptr}; ///< out_, for the socket's thread
    std::unique_ptr<base::channel> unconflated_;     ///< what comes in, if only the newest goes on
    std::unique_ptr<engine::inbound> in_;

    std::shared_ptr<dialer> dialer_;
    std::unique_ptr<transport::stream> stream_;
    std::optional<engine::handshake> handshake_;
    std::optional<boost::asio::steady_timer> timer_; ///< handshake or linger
    std::optional<engine::heartbeat> heartbeat_;     ///< if this side or the peer wants heartbeats
    std::optional<boost::asio::steady_timer> heartbeat_timer_; ///< while its time is running
    std::optional<boost::asio::steady_timer> collect_timer_;
    bool collecting_ = false; ///< the timer runs: the sending thread batches by itself
    bool in_traffic_ = false;
    bool waiting_to_read_ = false;
    bool waiting_to_write_ = false;
    bool closing_ = false;
    bool finished_ = false;
    bool given_up_ = false;         ///< no connection will be made again
    bool was_linked_ = false;       ///< subscriptions were told once
    unsigned connection_count_ = 0; ///< waits of an earlier connection are told apart by it

    struct translation {
        std::uint64_t stale_before = 0; ///< commands queued before this position are outdated
        bool as_messages = false;       ///< the peer speaks ZMTP 3.0
    } translation_;
    static void translate(std::vector<std::byte>& out, std::uint8_t flags,
                          std::span<const std::byte> body, std::uint64_t position,
                          const void* context);

    // While the socket's thread is behind, it may read by itself as it makes room: the I/O thread
    // offers, and takes back before it touches the connection or in_ again.
    std::mutex reading_mutex_;
    bool reading_offered_ = false;
    bool reading_directly_ = false; ///< the socket's thread is inside in_
    engine::inbound_error direct_error_ = engine::inbound_error::none;
    std::vector<std::vector<std::byte>> direct_commands_; ///< for the I/O thread to answer

    // touched by the socket's thread only
    base::steady_clock::time_point last_wake_{};
    unsigned quick_wakes_ = 0;
};

} // namespace zlink::core
