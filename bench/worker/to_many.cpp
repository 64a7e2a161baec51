// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"
#include "worker/outbox.hpp"
#include "worker/pace.hpp"
#include "worker/receivers.hpp"
#include "worker/roll_call.hpp"
#include "worker/stage.hpp"
#include "worker/timed_part.hpp"
#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zlink::bench::worker {

namespace {

/// One socket that sends, many that receive.
class to_many {
public:
    to_many(const settings& chosen, run_guard& guard)
        : chosen_(chosen),
          peers_(extent(chosen.what, dimension::peers)),
          scene_(chosen, guard, 1 + peers_ + chosen.idle_subscribers),
          hub_(scene_.open_hub(hub_type())),
          rounds_(std::max<std::uint64_t>(1, chosen.count / count())),
          warm_up_rounds_(std::max<std::uint64_t>(1, chosen.warm_up / count()))
    {}

    crowd_report measure()
    {
        connect();
        const bool addressed = is(pattern::to_many_router);
        if (addressed) {
            greet();
        }
        receivers all(chosen_, handles(), plan());
        roll_call present(count());
        timed_part timed(all.size());
        all.start(scene_, timed, addressed ? nullptr : &present, warm_up_rounds_, rounds_);
        scene_.start([&] { send(timed, present); });
        timed.begin();
        scene_.join();
        crowd_report report = timed.report(rounds_ * count());
        require_complete(all);
        report.latencies_ns = all.latencies_ns();
        return report;
    }

private:
    bool is(pattern value) const { return chosen_.what.pattern == value; }
    std::uint64_t count() const { return static_cast<std::uint64_t>(peers_); }

    int hub_type() const
    {
        return is(pattern::to_many_router) ? ZMQ_ROUTER
               : is(pattern::to_many_push) ? ZMQ_PUSH
                                           : ZMQ_PUB;
    }

    int peer_type() const
    {
        return is(pattern::to_many_router) ? ZMQ_DEALER
               : is(pattern::to_many_push) ? ZMQ_PULL
                                           : ZMQ_SUB;
    }

    void connect()
    {
        if (is(pattern::to_many_router)) {
            hub_.set(ZMQ_ROUTER_MANDATORY, 1);
        }
        if (is(pattern::to_many_pub) && chosen_.idle_subscribers == 0) {
            // It waits for room instead of dropping.
            hub_.set(ZMQ_XPUB_NODROP, 1);
        }
        const std::string endpoint = scene_.bind(hub_);
        for (int i = 0; i < chosen_.idle_subscribers; ++i) {
            socket& idle = scene_.open_party(ZMQ_SUB);
            idle.set(ZMQ_SUBSCRIBE, "");
            idle.connect(endpoint);
        }
        for (int i = 0; i < peers_; ++i) {
            socket& peer = scene_.open_party(peer_type());
            // Of 8 bytes, as programs like to have them.
            ids_.push_back(fmt::format("p{:07}", i));
            if (is(pattern::to_many_router)) {
                peer.set(ZMQ_ROUTING_ID, ids_.back());
            }
            if (is(pattern::to_many_pub)) {
                peer.set(ZMQ_SUBSCRIBE, "");
            }
            peer.connect(endpoint);
            sockets_.push_back(&peer);
        }
    }

    /// A ROUTER can send to those that it has heard of.
    void greet()
    {
        for (socket* const each : sockets_) {
            checked(zmq_send(each->handle(), "", 0, 0), "zmq_send");
        }
        std::array<char, 16> frame{};
        for (int i = 0; i < 2 * peers_; ++i) {
            checked(zmq_recv(hub_.handle(), frame.data(), frame.size(), 0), "zmq_recv");
        }
    }

    std::vector<void*> handles() const
    {
        std::vector<void*> all;
        for (const socket* const each : sockets_) {
            all.push_back(each->handle());
        }
        return all;
    }

    inbox_plan plan() const
    {
        inbox_plan chosen;
        chosen.order = chosen_.order;
        if (is(pattern::to_many_router)) {
            chosen.expected = arrivals::to_each;
        }
        if (is(pattern::to_many_push)) {
            // Which peer gets a message is the library's choice.
            chosen.expected = arrivals::shared;
            chosen.order = receive_order::poll;
        }
        return chosen;
    }

    void send(timed_part& timed, roll_call& present)
    {
        outbox out(chosen_);
        if (!is(pattern::to_many_router)) {
            const std::uint64_t probes = is(pattern::to_many_push) ? count() : 1;
            present.announce([&] {
                for (std::uint64_t i = 0; i < probes; ++i) {
                    out.send(hub_.handle(), {0, probe_sequence_of_many});
                }
            });
        }
        send_rounds(out, 0, warm_up_rounds_, nullptr);
        timed.wait_for_start();
        std::optional<pace> paced;
        if (chosen_.what.mode == mode::loaded) {
            // What is counted are deliveries, and a publisher sends once for all.
            paced.emplace(is(pattern::to_many_pub)
                              ? chosen_.per_second / static_cast<double>(count())
                              : chosen_.per_second);
            paced->start();
        }
        send_rounds(out, warm_up_rounds_, rounds_, paced ? &*paced : nullptr);
    }

    void send_rounds(outbox& out, std::uint64_t first, std::uint64_t rounds, pace* paced)
    {
        void* const hub = hub_.handle();
        const auto from = [paced] { return paced == nullptr ? 0 : paced->wait(); };
        for (std::uint64_t round = first; round < first + rounds; ++round) {
            if (is(pattern::to_many_pub)) {
                out.send(hub, {0, round}, from());
                continue;
            }
            for (std::uint32_t i = 0; i < count(); ++i) {
                if (is(pattern::to_many_push)) {
                    out.send(hub, {0, round * count() + i}, from());
                } else {
                    out.send_to(hub, ids_[i], {i, round}, from());
                }
            }
        }
    }

    /// Where messages are shared no socket knows which ones it should have.
    void require_complete(const receivers& all) const
    {
        const std::uint64_t sent = (warm_up_rounds_ + rounds_) * count();
        if (is(pattern::to_many_push) && all.sum_of_sequences() != sent * (sent - 1) / 2) {
            throw failure("a message arrived twice, and another did not arrive");
        }
    }

    const settings& chosen_;
    int peers_;
    stage scene_;
    socket& hub_;
    std::uint64_t rounds_; ///< each peer gets one message in each
    std::uint64_t warm_up_rounds_;
    std::vector<socket*> sockets_;
    std::vector<std::string> ids_;
};

} // namespace

crowd_report measure_to_many(const settings& chosen, run_guard& guard)
{
    return to_many(chosen, guard).measure();
}

} // namespace zlink::bench::worker
