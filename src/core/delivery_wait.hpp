// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace zlink::core {

/// Waits at the end of a connection until the peer has read what was written: the end must not
/// overtake that (docs/decisions/0006). Nothing tells when it has, so it is asked for now and then;
/// a peer that reads nothing at all is not waited for longer than 2 s.
///
/// Thread safety: the I/O thread only.
/// Lifetime: the I/O context must last until stop().
class delivery_wait {
public:
    /// How many bytes the peer has not read yet.
    using left_function = std::function<std::size_t()>;
    using end_function = std::function<void()>;

    explicit delivery_wait(boost::asio::io_context& io) noexcept : io_(io) {}

    /// Calls `end` once, from within if there is nothing to wait for. What both hold keeps this
    /// alive.
    void begin(left_function left, end_function end);
    bool running() const noexcept { return timer_.has_value(); }
    /// Allowed from within both functions.
    void stop() noexcept { timer_.reset(); }

private:
    void look(left_function left, end_function end);

    boost::asio::io_context& io_;
    std::optional<boost::asio::steady_timer> timer_;   ///< while it waits
    std::chrono::steady_clock::time_point progress_{}; ///< when the peer last had read anything
    std::size_t left_bytes_ = 0;
};

} // namespace zlink::core
