// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"
#include "worker/outbox.hpp"
#include "worker/pace.hpp"
#include "worker/proxy_service.hpp"
#include "worker/receivers.hpp"
#include "worker/roll_call.hpp"
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

/// Publishers, a proxy from XSUB to XPUB, and subscribers that all receive everything.
class forwarder {
public:
    forwarder(const settings& chosen, run_guard& guard)
        : chosen_(chosen),
          publishers_(static_cast<std::size_t>(extent(chosen.what, dimension::publishers))),
          subscribers_(static_cast<std::size_t>(extent(chosen.what, dimension::subscribers))),
          scene_(chosen, guard, static_cast<int>(2 + publishers_ + subscribers_)),
          each_(std::max<std::uint64_t>(1, chosen.count / (publishers_ * subscribers_))),
          warm_up_each_(std::max<std::uint64_t>(1, chosen.warm_up / (publishers_ * subscribers_)))
    {}

    crowd_report measure()
    {
        socket& frontend = scene_.open_hub(ZMQ_XSUB);
        socket& backend = scene_.open_hub(ZMQ_XPUB);
        backend.set(ZMQ_XPUB_NODROP, 1);
        const std::string publish_to = scene_.bind(frontend);
        const std::string subscribe_at = scene_.bind(backend);
        std::vector<void*> subscribed;
        for (std::size_t i = 0; i < subscribers_; ++i) {
            socket& subscriber = scene_.open_party(ZMQ_SUB);
            subscriber.set(ZMQ_SUBSCRIBE, "");
            subscriber.connect(subscribe_at);
            subscribed.push_back(subscriber.handle());
        }
        std::vector<void*> publishing;
        for (std::size_t i = 0; i < publishers_; ++i) {
            socket& publisher = scene_.open_party(ZMQ_PUB);
            publisher.set(ZMQ_XPUB_NODROP, 1);
            publisher.connect(publish_to);
            publishing.push_back(publisher.handle());
        }
        inbox_plan plan;
        plan.parties = publishers_;
        plan.order = chosen_.order;
        receivers all(chosen_, subscribed, plan);
        roll_call present(publishers_ * subscribers_);
        timed_part timed(all.size());
        start_proxy(scene_, frontend, backend);
        all.start(scene_, timed, &present, warm_up_each_ * publishers_, each_ * publishers_);
        for (std::size_t i = 0; i < publishers_; ++i) {
            scene_.start([this, &timed, &present, i, to = publishing[i]] {
                publish(timed, present, to, static_cast<std::uint32_t>(i));
            });
        }
        timed.begin();
        scene_.join();
        crowd_report report = timed.report(each_ * publishers_ * subscribers_);
        scene_.end_services();
        report.latencies_ns = all.latencies_ns();
        return report;
    }

private:
    void publish(timed_part& timed, roll_call& present, void* to, std::uint32_t party)
    {
        outbox out(chosen_);
        present.announce([&] { out.send(to, {party, probe_sequence_of_many}); });
        for (std::uint64_t i = 0; i < warm_up_each_; ++i) {
            out.send(to, {party, i});
        }
        timed.wait_for_start();
        std::optional<pace> paced;
        if (chosen_.what.mode == mode::loaded) {
            const auto publishers = static_cast<double>(publishers_);
            paced.emplace(chosen_.per_second / publishers / static_cast<double>(subscribers_));
            paced->start(party / publishers);
        }
        for (std::uint64_t i = 0; i < each_; ++i) {
            out.send(to, {party, warm_up_each_ + i}, paced ? paced->wait() : 0);
        }
    }

    const settings& chosen_;
    std::size_t publishers_;
    std::size_t subscribers_;
    stage scene_;
    std::uint64_t each_; ///< messages of a publisher
    std::uint64_t warm_up_each_;
};

} // namespace

crowd_report measure_forwarder(const settings& chosen, run_guard& guard)
{
    return forwarder(chosen, guard).measure();
}

} // namespace zlink::bench::worker
