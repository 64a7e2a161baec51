// SPDX-License-Identifier: Apache-2.0
#include "core/connection/event_sink.hpp"

#include <utility>
#include <zmq.h>

namespace zlink::core {

void event_sink::start(std::shared_ptr<event_listener> to, std::uint64_t events)
{
    std::lock_guard lock(mutex_);
    listener_ = std::move(to);
    wanted_.store(events, std::memory_order_relaxed);
}

void event_sink::stop() noexcept
{
    if (!listener_) // changed by this thread only
        return;
    emit({ZMQ_EVENT_MONITOR_STOPPED, {}, monitor_event::side::bound, {}, {}});
    std::shared_ptr<event_listener> ended;
    {
        std::lock_guard lock(mutex_);
        wanted_.store(0, std::memory_order_relaxed);
        ended = std::move(listener_);
    }
    ended->end();
}

void event_sink::emit(const monitor_event& event) noexcept
{
    if (!wants(event.id))
        return;
    try {
        std::lock_guard lock(mutex_);
        if (listener_)
            listener_->on_event(event);
    } catch (...) {
        // Without memory for it the event is dropped.
    }
}

} // namespace zlink::core
