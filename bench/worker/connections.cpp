// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"
#include "worker/inbox.hpp"
#include "worker/outbox.hpp"
#include "worker/stage.hpp"
#include "worker/timed_part.hpp"
#include "worker/usage.hpp"

#include <malloc.h>
#include <zmq.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace zlink::bench::worker {

crowd_report measure_connections(const settings& chosen, run_guard& guard)
{
    const int peers = extent(chosen.what, dimension::peers);
    const auto count = static_cast<std::size_t>(peers);
    stage scene(chosen, guard, 1 + peers);
    socket& hub = scene.open_hub(ZMQ_ROUTER);
    const std::string endpoint = scene.bind(hub);
    inbox_plan plan;
    plan.parties = count;
    plan.routing_ids = true;
    inbox box(chosen, {hub.handle()}, plan);
    outbox out(chosen);
    timed_part timed(1);

    const std::uint64_t before_kib = resident_memory_kib();
    scene.start([&] {
        timed.warmed_up();
        box.receive(count);
        timed.finished();
    });
    scene.start([&] {
        timed.wait_for_start();
        for (std::uint32_t i = 0; i < count; ++i) {
            socket& peer = scene.open_party(ZMQ_DEALER);
            peer.connect(endpoint);
            out.send(peer.handle(), {i, 0});
        }
    });
    timed.begin();
    scene.join();
    crowd_report report = timed.report(count);
    const auto grown_kib = [before_kib] {
        const std::uint64_t now_kib = resident_memory_kib();
        return now_kib > before_kib ? now_kib - before_kib : 0;
    };
    report.grown_kib = grown_kib();
    // What the connections needed while they came about, the allocator may keep for others.
    malloc_trim(0);
    report.grown_idle_kib = grown_kib();
    return report;
}

} // namespace zlink::bench::worker
