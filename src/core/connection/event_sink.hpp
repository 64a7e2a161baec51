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

/// Is told of events, one after the other.
class event_listener {
public:
    virtual ~event_listener() = default;
    /// Throws std::bad_alloc: the event is dropped.
    virtual void on_event(const monitor_event& event) = 0;
    /// It is told of nothing more.
    virtual void end() noexcept = 0;
};

/// Where the events of a socket's connections go. Costs a load per event while nobody listens.
///
/// Thread safety: emit(), wants() and active() in any thread; start() and stop() in the socket's.
/// Events are told in the order of the calls.
class event_sink {
public:
    event_sink() = default;
    event_sink(const event_sink&) = delete;
    event_sink& operator=(const event_sink&) = delete;

    /// Tells `to` of these events (ZMQ_EVENT_* bits) from now on. Nobody must be listening.
    void start(std::shared_ptr<event_listener> to, std::uint64_t events);
    /// Ends it with ZMQ_EVENT_MONITOR_STOPPED, if somebody listens.
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
    std::shared_ptr<event_listener> listener_;
};

} // namespace zlink::core
