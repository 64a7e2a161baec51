// SPDX-License-Identifier: Apache-2.0
#include "core/connection/connection_report.hpp"

#include <new>
#include <utility>
#include <zmq.h>

namespace zlink::core {

connection_report::connection_report(event_sink& events,
                                     const std::unique_ptr<transport::stream>& stream,
                                     bool was_accepted, shared_text endpoint) noexcept
    : events_(&events), stream_(stream), was_accepted_(was_accepted), endpoint_(std::move(endpoint))
{}

const transport::stream_info& connection_report::facts()
{
    if (!facts_)
        facts_ = std::make_unique<const transport::stream_info>(stream_->info());
    return *facts_;
}

void connection_report::forget_unless_monitored() noexcept
{
    if (!events_ || !events_->active())
        facts_.reset();
}

void connection_report::note_descriptor()
{
    descriptor_ = -1;
    descriptor_ = facts().descriptor;
}

void connection_report::tell(std::uint64_t event, int value) noexcept
{
    if (!events_ || !events_->wants(event))
        return;
    using side = monitor_event::side;
    const transport::stream_info nothing_known;
    const transport::stream_info* found = &nothing_known;
    try {
        if (stream_)
            found = &facts();
    } catch (const std::bad_alloc&) {
        // What has happened is told all the same.
    }
    const transport::stream_info& known = *found;
    const auto number = monitor_event::number(value);
    if (was_accepted_)
        events_->emit({event, number, side::bound, endpoint_, known.remote_endpoint});
    else
        events_->emit({event, number, side::connected, known.local_endpoint, endpoint_});
}

void connection_report::tell_failure(const engine::failure_event& what) noexcept
{
    const auto value = static_cast<int>(what.value);
    switch (what.what) {
    case engine::failure_event::kind::none:
        return;
    case engine::failure_event::kind::no_detail:
        return tell(ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, value);
    case engine::failure_event::kind::protocol:
        return tell(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL, value);
    case engine::failure_event::kind::denied:
        return tell(ZMQ_EVENT_HANDSHAKE_FAILED_AUTH, value);
    }
}

} // namespace zlink::core
