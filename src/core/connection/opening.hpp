// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/handshake.hpp"
#include "transport/exchange.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink::core {

/// The opening of one connection: its upgrades one after the other, then the handshake. Moves their
/// bytes over the stream, within a time limit. It tells its end once; nothing happens after that or
/// after stop().
///
/// Thread safety: the thread of the I/O context only.
/// Lifetime: keeps itself alive while something is pending. The pointer to the stream, which
/// upgrades replace, must last until the end is told or stop().
class opening : public std::enable_shared_from_this<opening> {
public:
    enum class end_kind : std::uint8_t {
        succeeded,
        refused,   ///< by either side; the peer was told why if it is to know
        broken,    ///< the connection is, or the time is over
        unreached, ///< broken before there was a connection to the peer
        passed_on, ///< it is for another listener: pass_on() is to be called
    };
    struct ending {
        end_kind kind;
        int error = 0; ///< broken, unreached: errno
        engine::handshake_error refusal = engine::handshake_error::none;
        std::string_view reason{};    ///< refused by the peer: its words; valid during the call
        engine::remote_peer remote{}; ///< succeeded: who the peer is,
        std::shared_ptr<engine::frame_codec> codec{};   ///< how it is framed, if not as usual,
        std::shared_ptr<engine::frame_cipher> cipher{}; ///< what encrypts the traffic,
        std::vector<std::byte> unsent{};   ///< what has to go out before anything else,
        std::span<const std::byte> rest{}; ///< and what came in behind; valid during the call
    };
    using end_handler = std::function<void(const ending&)>; ///< must not throw

    /// How the connection is framed, given the protocol that its upgrades have agreed on.
    using frame_function = std::function<engine::framing(std::string_view protocol)>;

    /// `handshake` may be null: the peer speaks no ZMTP. `frame` null: as ZMTP says, or as plain
    /// bytes without a handshake.
    opening(boost::asio::io_context& io, std::unique_ptr<transport::stream>& stream,
            transport::upgrades upgrades, std::unique_ptr<engine::handshake> handshake,
            frame_function frame = nullptr);
    ~opening();

    /// What is done before the first bytes are written.
    enum class first_look : std::uint8_t {
        none,
        read, ///< the peer may have written already: the first bytes answer that as well
    };
    struct handlers {
        end_handler ended;
        /// There is a connection to the peer; perhaps at once.
        std::function<void()> reached;
    };
    /// Begins; the handlers may be called from within. Throws std::bad_alloc: stop() has to follow.
    /// `limit_ms`: for all that comes once the peer is reached, 0 = none.
    void start(int limit_ms, handlers to, first_look look = first_look::none);
    /// Is there no connection to the peer yet?
    bool is_reaching() const noexcept;
    /// Does it replace the stream?
    bool has_upgrades() const noexcept { return !upgrades_.empty(); }
    void lift_time_limit() noexcept;
    /// What the peer has sent already. Before start().
    void begin_with(std::vector<std::byte> bytes) noexcept { pending_ = std::move(bytes); }
    /// After the end `passed_on`: gives the stream away. Throws std::bad_alloc.
    void pass_on() { current_upgrade()->pass_on(std::move(stream_), io_, pending_); }
    void stop() noexcept;

private:
    bool is_over() const noexcept { return !to_.ended; }
    /// The body of a handler: if it runs out of memory, the connection is broken.
    template <class Body>
    void attempt(Body body) noexcept;
    bool is_last() const noexcept { return stage_ + 1 >= stages(); }
    std::size_t stages() const noexcept { return upgrades_.size() + (handshake_ ? 1 : 0); }
    transport::exchange& current() const noexcept;
    transport::upgrade* current_upgrade() const noexcept;
    std::string_view protocol() const noexcept;
    void begin_stage();
    void next_stage();
    void limit(std::chrono::milliseconds time);
    void pump();
    bool ends_unwritten(transport::exchange::state at);
    bool advance(transport::exchange::state from);
    void take(std::span<const std::byte> bytes);
    bool read();
    bool write();
    bool flush();
    void output_failed(int error);
    void wait(transport::direction which);
    void end(const ending& how);
    void end_broken(int error);
    void end_failed();
    void end_succeeded();

    boost::asio::io_context& io_;
    std::unique_ptr<transport::stream>& stream_;
    transport::upgrades upgrades_;
    std::unique_ptr<engine::handshake> handshake_;
    frame_function frame_;
    std::size_t stage_ = 0;          ///< an index of upgrades_, or behind them the handshake
    std::vector<std::byte> pending_; ///< was read, and is for the next stage or waits with this one
    handlers to_;                    ///< null once it is over
    std::chrono::milliseconds limit_{};
    std::optional<boost::asio::steady_timer> timer_;
    bool waiting_to_read_ = false;
    bool waiting_to_write_ = false;
    bool has_output_failed_ = false; ///< nothing more is written then
};

} // namespace zlink::core
