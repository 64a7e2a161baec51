// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace zlink::core {

/// What the socket's thread and the I/O thread of a session tell each other about its endpoint.
/// Thread safety: any thread, if not said otherwise.
class endpoint_status {
public:
    /// Why a session will make no other connection, and not because it was closed.
    enum class end : std::uint8_t {
        unusable, ///< there never was a usable connection
        lost,     ///< the last one was lost
    };

    /// The I/O thread: the session has ended by itself, in this way.
    void give_up(end how) noexcept
    {
        state_.store(how == end::lost ? state::lost : state::unusable, std::memory_order_release);
    }
    bool gave_up() const noexcept
    {
        return state_.load(std::memory_order_acquire) != state::in_use;
    }
    /// Valid after gave_up().
    bool was_lost() const noexcept { return state_.load(std::memory_order_acquire) == state::lost; }
    /// The socket's thread has closed the pipe. -1 = it lingers for ever.
    void close(int linger_ms) noexcept { linger_ms_.store(linger_ms, std::memory_order_relaxed); }
    /// Valid after close().
    int linger_ms() const noexcept { return linger_ms_.load(std::memory_order_relaxed); }
    /// The socket's thread: may the session still connect, or be connected, for the socket?
    bool serves_socket() const noexcept { return linger_ms() == not_closed && !gave_up(); }

private:
    enum class state : std::uint8_t { in_use, unusable, lost };
    static constexpr int not_closed = std::numeric_limits<int>::min(); ///< no linger time

    std::atomic<int> linger_ms_{not_closed};
    std::atomic<state> state_{state::in_use};
};

} // namespace zlink::core
