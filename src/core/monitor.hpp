// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace zlink::core {

class context;
class monitor_outlet;

/// Something that has happened to a connection or an endpoint of a socket.
struct monitor_event {
    /// Which end is the socket's own: version 1 shows one endpoint only.
    enum class side : std::uint8_t { bound, connected };

    struct values {
        std::array<std::uint64_t, 2> at{};
        std::size_t count = 1;
    };
    static values number(int value) noexcept { return {{static_cast<std::uint64_t>(value), 0}, 1}; }

    std::uint64_t id = 0; ///< ZMQ_EVENT_*
    values value;
    side own = side::bound;
    std::string_view local;  ///< endpoint of this side; may be empty
    std::string_view remote; ///< endpoint of the other side; may be empty
};

/// How an application wants to be told.
struct monitor_settings {
    std::string_view endpoint; ///< "inproc://..." to bind
    std::uint64_t events = 0;  ///< ZMQ_EVENT_* bits
    int version = 1;           ///< of the messages: 1 or 2
    int socket_type = 0;       ///< ZMQ_PAIR, ZMQ_PUB or ZMQ_PUSH
};

/// Tells an application what happens to the connections of a socket, by messages of an internal
/// socket. Costs a load per event while nobody listens, and never waits for who does: what neither
/// the internal socket nor a bounded backlog takes is dropped.
///
/// Thread safety: emit() and wants() in any thread; start() and stop() in the socket's. Events are
/// told in the order of the calls.
class monitor {
public:
    monitor();
    ~monitor();
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;

    /// Begins, in place of what was going on before (which ends even if this fails to bind). 0 or
    /// errno: EINVAL, EPROTONOSUPPORT (not inproc), EADDRINUSE, EMFILE, ETERM.
    int start(context& owner, const monitor_settings& settings);
    /// Ends it with ZMQ_EVENT_MONITOR_STOPPED.
    void stop() noexcept;

    bool active() const noexcept { return wants(~std::uint64_t{0}); }
    bool wants(std::uint64_t event) const noexcept
    {
        return (wanted_.load(std::memory_order_relaxed) & event) != 0;
    }
    void emit(const monitor_event& event) noexcept;

private:
    std::atomic<std::uint64_t> wanted_{0};
    std::mutex mutex_;
    std::shared_ptr<monitor_outlet> outlet_;
};

} // namespace zlink::core
