// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"

#include "worker/numbering.hpp"
#include "worker/zmq_handles.hpp"

#include <cstdint>

namespace zlink::bench::worker {

crowd_report measure_crowd(const settings& chosen, run_guard& guard)
{
    if (static_cast<std::uint32_t>(party_count(chosen.what)) >= max_parties) {
        throw failure("there are more sockets than a message can name");
    }
    guard.watch(-1, -1);
    switch (chosen.what.pattern) {
    case pattern::broker:
        return measure_broker(chosen, guard);
    case pattern::forwarder:
        return measure_forwarder(chosen, guard);
    case pattern::connections:
        return measure_connections(chosen, guard);
    case pattern::from_many_push:
    case pattern::from_many_dealer:
        return measure_from_many(chosen, guard);
    default:
        return measure_to_many(chosen, guard);
    }
}

} // namespace zlink::bench::worker
