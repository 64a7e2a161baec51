// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"
#include "worker/outbox.hpp"
#include "worker/pace.hpp"
#include "worker/receivers.hpp"
#include "worker/stage.hpp"
#include "worker/timed_part.hpp"

#include <zmq.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zlink::bench::worker {

namespace {

/// Threads that each send over sockets of their own in turn, and one socket that receives.
class from_many {
public:
    from_many(const settings& chosen, run_guard& guard)
        : chosen_(chosen),
          threads_(static_cast<std::size_t>(extent(chosen.what, dimension::threads))),
          sockets_each_(static_cast<std::size_t>(extent(chosen.what, dimension::sockets))),
          scene_(chosen, guard, 1 + party_count(chosen.what)),
          rounds_(std::max<std::uint64_t>(1, chosen.count / parties())),
          warm_up_rounds_(std::max<std::uint64_t>(1, chosen.warm_up / parties()))
    {}

    crowd_report measure()
    {
        const bool router = chosen_.what.pattern == pattern::from_many_dealer;
        socket& hub = scene_.open_hub(router ? ZMQ_ROUTER : ZMQ_PULL);
        const std::string endpoint = scene_.bind(hub);
        for (std::size_t i = 0; i < parties(); ++i) {
            socket& sender = scene_.open_party(router ? ZMQ_DEALER : ZMQ_PUSH);
            sender.connect(endpoint);
            sockets_.push_back(&sender);
        }
        inbox_plan plan;
        plan.parties = parties();
        plan.routing_ids = router;
        receivers all(chosen_, {hub.handle()}, plan);
        timed_part timed(all.size());
        all.start(scene_, timed, nullptr, warm_up_rounds_ * parties(), rounds_ * parties());
        for (std::size_t thread = 0; thread < threads_; ++thread) {
            scene_.start([this, &timed, thread] { send(timed, thread); });
        }
        timed.begin();
        scene_.join();
        crowd_report report = timed.report(rounds_ * parties());
        report.latencies_ns = all.latencies_ns();
        return report;
    }

private:
    std::size_t parties() const { return threads_ * sockets_each_; }

    void send(timed_part& timed, std::size_t thread)
    {
        outbox out(chosen_);
        send_rounds(out, thread, 0, warm_up_rounds_, nullptr);
        timed.wait_for_start();
        std::optional<pace> paced;
        if (chosen_.what.mode == mode::loaded) {
            const auto threads = static_cast<double>(threads_);
            paced.emplace(chosen_.per_second / threads);
            paced->start(static_cast<double>(thread) / threads);
        }
        send_rounds(out, thread, warm_up_rounds_, rounds_, paced ? &*paced : nullptr);
    }

    void send_rounds(outbox& out, std::size_t thread, std::uint64_t first, std::uint64_t rounds,
                     pace* paced)
    {
        const std::size_t begin = thread * sockets_each_;
        for (std::uint64_t round = first; round < first + rounds; ++round) {
            for (std::size_t i = begin; i < begin + sockets_each_; ++i) {
                const std::int64_t from_ns = paced == nullptr ? 0 : paced->wait();
                out.send(sockets_[i]->handle(), {static_cast<std::uint32_t>(i), round}, from_ns);
            }
        }
    }

    const settings& chosen_;
    std::size_t threads_;
    std::size_t sockets_each_;
    stage scene_;
    std::uint64_t rounds_; ///< each socket sends one message in each
    std::uint64_t warm_up_rounds_;
    std::vector<socket*> sockets_;
};

} // namespace

crowd_report measure_from_many(const settings& chosen, run_guard& guard)
{
    return from_many(chosen, guard).measure();
}

} // namespace zlink::bench::worker
