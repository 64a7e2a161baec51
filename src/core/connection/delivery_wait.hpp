// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace zlink::core {

/// Waits at the end of a connection until the peer has what was written: the end must not overtake
/// that (docs/decisions/0006). Nothing tells when it has, so it is asked for now and then. And the
/// linger time, in which all of that has to happen.
///
/// Thread safety: the I/O thread only.
/// Lifetime: the I/O context must last until stop().
class delivery_wait {
public:
    /// How many bytes the peer has not got yet.
    using remaining_function = std::function<std::size_t()>;
    using end_function = std::function<void()>;

    explicit delivery_wait(boost::asio::io_context& io) noexcept : io_(io) {}

    enum class limit : unsigned char {
        short_stall, ///< a peer that takes nothing at all is waited for no longer than 2 s
        none,        ///< somebody else watches whether it lives
    };
    /// Calls `end` once, from within if there is nothing to wait for. What both hold keeps this
    /// alive. Throws std::bad_alloc, and does not wait; without memory later on it ends the wait.
    void begin(remaining_function remaining, end_function end, limit how_long = limit::short_stall);
    bool running() const noexcept { return timer_ != nullptr; }
    /// Calls `end` after this time, whatever there is to wait for. Throws std::bad_alloc, and does
    /// not.
    void end_after(std::chrono::milliseconds linger_time, end_function end);
    /// Allowed from within these functions.
    void stop() noexcept
    {
        timer_.reset();
        linger_timer_.reset();
    }

private:
    void look(const remaining_function& remaining, const end_function& end, limit how_long);

    boost::asio::io_context& io_;
    std::unique_ptr<boost::asio::steady_timer> timer_; ///< while it waits
    std::unique_ptr<boost::asio::steady_timer> linger_timer_;
    std::chrono::steady_clock::time_point progress_{}; ///< when the peer last had read anything
    std::size_t remaining_bytes_ = 0;
};

} // namespace zlink::core
