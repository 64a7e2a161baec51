// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>

namespace zlink::core {

/// Looks after a sending thread on duty (docs/decisions/0002): the end of its last batch must not
/// wait for ever. It looks soon and, while the duty goes on, less and less often: a thread that
/// sends on and on does not want to be disturbed much.
///
/// Thread safety: the I/O thread only.
/// Lifetime: the I/O context must last until stop().
class batch_collector {
public:
    /// Writes what is left; true while the duty goes on.
    using collect_function = std::function<bool()>;

    explicit batch_collector(boost::asio::io_context& io) noexcept : io_(io) {}

    bool running() const noexcept { return running_; }
    /// Unless it is running: calls `collect` again and again until that says no. What it holds
    /// keeps this alive.
    void begin(collect_function collect);
    /// Allowed from within `collect`.
    void stop() noexcept;

private:
    void schedule(collect_function collect);

    boost::asio::io_context& io_;
    std::optional<boost::asio::steady_timer> timer_;
    std::chrono::microseconds interval_{};
    bool running_ = false;
};

} // namespace zlink::core
