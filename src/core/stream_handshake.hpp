// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake.hpp"
#include "transport/stream.hpp"

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
#include <vector>

namespace zlink::core {

/// The handshake of one connection: moves the bytes of engine::handshake over the stream, within a
/// time limit. It tells its end once; nothing happens after that or after stop().
///
/// Thread safety: the thread of the I/O context only.
/// Lifetime: keeps itself alive while something is pending. The stream must last until the end is
/// told or stop().
class stream_handshake : public std::enable_shared_from_this<stream_handshake> {
public:
    enum class end_kind : std::uint8_t {
        succeeded,
        refused, ///< by either side; the peer was told why if it is to know
        broken,  ///< the connection is, or the time is over
    };
    struct ending {
        end_kind kind;
        int error = 0; ///< broken: errno
        engine::handshake_error refusal = engine::handshake_error::none;
        std::string_view reason{};       ///< refused by the peer: its words; valid during the call
        engine::remote_peer remote{};    ///< succeeded: who the peer is,
        std::vector<std::byte> unsent{}; ///< what has to go out before anything else,
        std::span<const std::byte> rest{}; ///< and what came in behind; valid during the call
    };
    using end_handler = std::function<void(const ending&)>;

    stream_handshake(boost::asio::io_context& io, transport::stream& stream,
                     engine::local_peer local);

    /// What is done before the first bytes are written.
    enum class first_look : std::uint8_t {
        none,
        read, ///< the peer may have written already: its bytes are answered along with the first
    };
    /// Begins; `ended` may be called from within. `limit_ms`: 0 = none.
    void start(int limit_ms, end_handler ended, first_look look = first_look::none);
    void lift_time_limit() noexcept { timer_.reset(); }
    void stop() noexcept;

private:
    void pump();
    bool read();
    bool write();
    void wait(transport::direction which);
    void end(const ending& how);
    void end_broken(int error) { end({.kind = end_kind::broken, .error = error}); }
    void end_refused();

    boost::asio::io_context& io_;
    transport::stream& stream_;
    engine::handshake handshake_;
    end_handler ended_; ///< null once it is over
    std::optional<boost::asio::steady_timer> timer_;
    bool waiting_to_read_ = false;
    bool waiting_to_write_ = false;
};

} // namespace zlink::core
