// SPDX-License-Identifier: Apache-2.0
#include "worker/receivers.hpp"

#include <cstddef>

namespace zlink::bench::worker {

receivers::receivers(const settings& chosen, const std::vector<void*>& sockets,
                     const inbox_plan& plan)
{
    const auto threads = static_cast<std::size_t>(chosen.receivers);
    for (std::size_t i = 0; i < threads; ++i) {
        const std::size_t from = sockets.size() * i / threads;
        const std::size_t to = sockets.size() * (i + 1) / threads;
        inbox_plan part = plan;
        part.first_party += from;
        shares_.emplace_back(chosen,
                             std::vector<void*>(sockets.begin() + static_cast<std::ptrdiff_t>(from),
                                                sockets.begin() + static_cast<std::ptrdiff_t>(to)),
                             part);
    }
}

void receivers::start(stage& scene, timed_part& timed, roll_call* present,
                      std::uint64_t warm_up_each, std::uint64_t count_each)
{
    const bool timed_messages = is_timed(scene.chosen().what);
    for (share& each : shares_) {
        scene.start([&each, &timed, present, warm_up_each, count_each, timed_messages] {
            if (timed_messages) {
                each.box.reserve_latencies(each.sockets * count_each);
            }
            if (present != nullptr) {
                each.box.meet([present] { present->present(); });
            }
            each.box.receive(each.sockets * warm_up_each);
            timed.warmed_up();
            each.box.receive(each.sockets * count_each);
            timed.finished();
        });
    }
}

std::vector<std::int64_t> receivers::latencies_ns()
{
    std::vector<std::int64_t> all;
    for (share& each : shares_) {
        all.insert(all.end(), each.box.latencies_ns().begin(), each.box.latencies_ns().end());
    }
    return all;
}

std::uint64_t receivers::sum_of_sequences() const
{
    std::uint64_t sum = 0;
    for (const share& each : shares_) {
        sum += each.box.sum_of_sequences();
    }
    return sum;
}

} // namespace zlink::bench::worker
