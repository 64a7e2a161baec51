// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/inbox.hpp"
#include "worker/roll_call.hpp"
#include "worker/stage.hpp"
#include "worker/timed_part.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace zlink::bench::worker {

/// Threads that share many sockets and receive from them. Each socket gets the same number of
/// messages, unless one thread receives for all.
class receivers {
public:
    /// `plan` is that of all sockets together. They are borrowed.
    receivers(const settings& chosen, const std::vector<void*>& sockets, const inbox_plan& plan);

    /// How many there are.
    std::size_t size() const { return shares_.size(); }

    /// Starts the threads. Unless `present` is null they first wait for a probe from each party at
    /// each socket, and tell it of them. Then they receive what warms up and what is timed, so many
    /// messages for each socket.
    void start(stage& scene, timed_part& timed, roll_call* present, std::uint64_t warm_up_each,
               std::uint64_t count_each);

    /// All latencies, after the threads have ended.
    std::vector<std::int64_t> latencies_ns();

    std::uint64_t sum_of_sequences() const;

private:
    struct share {
        inbox box;
        std::uint64_t sockets;
        share(const settings& chosen, std::vector<void*> borrowed, const inbox_plan& plan)
            : box(chosen, borrowed, plan), sockets(borrowed.size())
        {}
    };
    std::deque<share> shares_;
};

} // namespace zlink::bench::worker
