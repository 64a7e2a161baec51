// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dialer.hpp"
#include "core/pipe.hpp"
#include "core/socket_link.hpp"
#include "engine/handshake.hpp"
#include "engine/heartbeat.hpp"
#include "engine/inbound.hpp"
#include "engine/outbound.hpp"
#include "engine/raw_inbound.hpp"
#include "runtime/io_thread.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

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
                      public runtime::errand,
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

    /// Any thread: makes no other connection than the one it has, if it has one.
    void stop_reconnecting();

    /// Any thread: gives up if the handshake is not done; a pipe that was handed to the socket is
    /// the socket's to close.
    void close_unless_linked();

    // pipe_peer: the socket's thread
    wake_result on_readable() noexcept override;
    wake_result on_flush() noexcept override;
    wake_result on_pause() noexcept override;
    void on_writable() noexcept override;
    void ask_for_reading() noexcept override;
    lent_read read_lent() noexcept override;
    void return_reading() noexcept override;
    void on_output_ended() noexcept override { post(&session::close_after_output); }
    void on_closed(int linger_ms) noexcept override { close(linger_ms); }
    std::size_t write_through(const iovec (&frame)[2]) noexcept override;

    // runtime::errand
    void run() override { drain(); }

    // engine::inbound::command_handler
    void on_command(std::span<const std::byte> body) override;

private:
    enum class loss : std::uint8_t { connection, protocol };

    void begin();
    void begin_handshake(std::unique_ptr<transport::stream> stream);
    void pump_handshake();
    bool write_handshake();
    void handshake_refused();
    void end_handshake(std::span<const std::byte> rest);
    void begin_traffic(const engine::remote_peer& remote, std::span<const std::byte> unsent,
                       std::span<const std::byte> rest);
    std::unique_ptr<engine::decoder> make_decoder(const engine::remote_peer& remote);
    bool is_raw() const noexcept { return options_->wire != wire_format::zmtp; }
    peer_info describe(const engine::remote_peer& remote) const;
    bool feed_rest(std::span<const std::byte> rest);
    void pass_on_received();
    void tell_socket(std::string_view notice);
    void tell_of_loss(bool made_again);
    void attach_outbound(std::span<const std::byte> first, const engine::remote_peer& remote,
                         const std::function<void()>& announce);

    void start_heartbeat(const engine::remote_peer& remote);
    void ping_received(std::chrono::milliseconds ttl);
    void resume_heartbeat();
    void schedule_heartbeat();
    void beat();
    void send_ping();

    void drain();
    enum class way : std::uint8_t { as_usual, direct, hand_over };
    wake_result write_directly() noexcept;
    way choose_way(base::steady_clock::time_point now) noexcept;
    wake_result after_direct(engine::outbound::outcome outcome) noexcept;
    void begin_collecting();
    void schedule_collecting();
    void collect_deferred();
    void handle(engine::outbound::outcome outcome);
    void read();
    enum class read_end : std::uint8_t {
        full,            ///< the queue takes no more
        dry,             ///< nothing more is there
        needs_io_thread, ///< an end, an error, or commands that want an answer
    };
    read_end read_directly() noexcept;
    void offer_reading();
    void take_back_reading();
    void lend_reading();
    void watch_lending();
    void wait(transport::direction which);
    void lost(loss why);
    void handshake_lost(int error);
    void report(std::uint64_t event, int value);
    void give_up();
    engine::outbound& writer() noexcept { return *writer_.load(std::memory_order_acquire); }
    void begin_close(int linger_ms);
    void close_after_output();
    void finish_if_drained();
    void finish_once_delivered();
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
    std::unique_ptr<engine::decoder> in_;

    std::shared_ptr<dialer> dialer_;
    std::unique_ptr<transport::stream> stream_;
    const bool was_accepted_ = false;
    std::string near_end_; ///< endpoint texts of the connection, for a monitor
    std::string far_end_;
    std::optional<engine::handshake> handshake_;
    std::optional<boost::asio::steady_timer> timer_; ///< handshake or linger
    std::optional<engine::heartbeat> heartbeat_;     ///< if this side or the peer wants heartbeats
    std::optional<boost::asio::steady_timer> heartbeat_timer_; ///< while its time is running
    std::optional<boost::asio::steady_timer> collect_timer_;
    std::optional<boost::asio::steady_timer> delivery_timer_; ///< while finish() waits for the peer
    base::steady_clock::time_point delivery_progress_{};      ///< when it last had read anything
    std::size_t undelivered_bytes_ = 0;
    std::chrono::microseconds collect_interval_{};
    bool collecting_ = false; ///< the timer runs: the sending thread batches by itself
    bool in_traffic_ = false;
    bool waiting_to_read_ = false;
    bool waiting_to_write_ = false;
    bool closing_ = false;
    bool ended_here_ = false; ///< closing, but the socket still has the pipe
    bool finished_ = false;
    bool given_up_ = false;         ///< no connection will be made again
    bool may_reconnect_ = true;     ///< while it has not been told otherwise
    bool was_linked_ = false;       ///< subscriptions were told once
    unsigned connection_count_ = 0; ///< waits of an earlier connection are told apart by it

    struct translation {
        std::uint64_t stale_before = 0; ///< commands queued before this position are outdated
        bool as_messages = false;       ///< the peer is older than ZMTP 3.1
        engine::framing frames = engine::framing::zmtp3;
    } translation_;
    static void translate(engine::write_batch& out, const engine::queued_frame& frame,
                          const void* context);

    // Who reads. While the socket's thread is behind, it may read by itself as it makes room; while
    // it waits for input again and again, it may read whenever it likes. The I/O thread takes this
    // back before it touches the connection or in_ again.
    enum class reader : std::uint8_t { io_thread, offered, lent };
    std::mutex reading_mutex_;
    reader reader_ = reader::io_thread;
    unsigned lent_reads_ = 0;       ///< that found something, since the last look
    bool reading_directly_ = false; ///< the socket's thread is inside in_
    engine::inbound_error direct_error_ = engine::inbound_error::none;
    std::vector<std::vector<std::byte>> direct_commands_; ///< for the I/O thread to answer

    std::atomic<bool> lending_asked_{false};
    bool stream_lent_ = false; ///< the stream is out of the I/O context
    base::steady_clock::time_point lend_again_{};
    std::optional<boost::asio::steady_timer> lending_timer_;
    unsigned wait_count_ = 0; ///< waits from before a lending are told apart by it

    // touched by the socket's thread only
    const std::shared_ptr<fan_out_pace> pace_; ///< null if its socket does not send to many
    std::uint64_t committed_at_wake_ = 0;      ///< messages
    base::steady_clock::time_point last_wake_{};
    unsigned quick_wakes_ = 0;
};

} // namespace zlink::core
