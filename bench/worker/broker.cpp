// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"
#include "worker/frames.hpp"
#include "worker/numbering.hpp"
#include "worker/outbox.hpp"
#include "worker/pace.hpp"
#include "worker/proxy_service.hpp"
#include "worker/roll_call.hpp"
#include "worker/stage.hpp"
#include "worker/timed_part.hpp"
#include "worker/usage.hpp"
#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <zmq.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace zlink::bench::worker {

namespace {

/// Sends back each message, frame by frame, until the context is shut down.
void echo(void* socket, roll_call& present)
{
    zmq_msg_t frame;
    checked(zmq_msg_init(&frame), "zmq_msg_init");
    bool first = true;
    for (;;) {
        if (zmq_msg_recv(&frame, socket, 0) == -1) {
            break;
        }
        const bool more = zmq_msg_more(&frame) != 0;
        if (zmq_msg_send(&frame, socket, more ? ZMQ_SNDMORE : 0) == -1) {
            break;
        }
        if (first && !more) {
            first = false;
            present.present();
        }
    }
    const int error = zmq_errno();
    zmq_msg_close(&frame);
    if (error != ETERM) {
        throw failure(fmt::format("a worker cannot go on: {}", zmq_strerror(error)));
    }
}

/// Waits until the socket has a message or the time has come; -1: until it has a message.
void wait_for_reply(void* socket, std::int64_t until_ns)
{
    int events = 0;
    std::size_t size = sizeof events;
    checked(zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size), "zmq_getsockopt(ZMQ_EVENTS)");
    if ((events & ZMQ_POLLIN) != 0) {
        return;
    }
    pollfd entry{-1, POLLIN, 0};
    size = sizeof entry.fd;
    checked(zmq_getsockopt(socket, ZMQ_FD, &entry.fd, &size), "zmq_getsockopt(ZMQ_FD)");
    const std::int64_t left_ns = std::max<std::int64_t>(0, until_ns - now_ns());
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    ppoll(&entry, 1, until_ns == -1 ? nullptr : &left, nullptr);
}

/// Sends requests and checks that each is answered once. The replies of several workers come in any
/// order.
class client {
public:
    client(const settings& chosen, void* socket, std::uint32_t party)
        : chosen_(chosen),
          socket_(socket),
          party_(party),
          out_(chosen),
          body_(chosen.what.size_bytes)
    {}

    /// So many requests, of which a window full is under way all the time.
    void keep_window(std::uint64_t count, std::uint64_t window, bool timed)
    {
        expect(count);
        std::uint64_t sent = 0;
        for (std::uint64_t received = 0; received < count; ++received) {
            for (; sent < count && sent - received < window; ++sent) {
                out_.send(socket_, {party_, sent}, timed ? now_ns() : 0);
            }
            take_reply(0);
        }
    }

    /// So many requests, each when it is due.
    void keep_pace(std::uint64_t count, pace& paced)
    {
        expect(count);
        const std::uint64_t limit = max_requests_under_way(chosen_.hwm);
        std::uint64_t sent = 0;
        for (std::uint64_t received = 0; received < count;) {
            std::optional<std::int64_t> from_ns;
            const bool may_send = sent < count && sent - received < limit;
            if (may_send && (from_ns = paced.take_due())) {
                out_.send(socket_, {party_, sent}, *from_ns);
                ++sent;
            }
            if (take_reply(ZMQ_DONTWAIT)) {
                ++received;
            } else if (!may_send) {
                wait_for_reply(socket_, -1);
            } else if (!from_ns) {
                wait_for_reply(socket_, paced.next_due_ns());
                paced.slept();
            }
        }
    }

    /// Makes room for so many, and touches it, so that this is not done while timing.
    void reserve_latencies(std::uint64_t count)
    {
        latencies_ns_.resize(count);
        latencies_ns_.clear();
    }

    std::vector<std::int64_t>& latencies_ns() { return latencies_ns_; }

private:
    void expect(std::uint64_t count) { answered_.assign(count, false); }

    bool take_reply(int flags)
    {
        const auto size = try_receive_frame(chosen_.what.api, socket_, body_, flags, false);
        if (!size) {
            return false;
        }
        if (*size != body_.size()) {
            throw failure(fmt::format("received {} bytes instead of {}", *size, body_.size()));
        }
        std::uint64_t bits = 0;
        std::memcpy(&bits, body_.data(), sizeof bits);
        const auto number = message_number::from(bits);
        if (number.party != party_ || number.sequence >= answered_.size() ||
            answered_[number.sequence]) {
            throw failure(
                fmt::format("client {} got reply {} to client {}, which it did not expect", party_,
                            number.sequence, number.party));
        }
        answered_[number.sequence] = true;
        if (is_timed(chosen_.what)) {
            std::int64_t from_ns = 0;
            std::memcpy(&from_ns, body_.data() + sizeof bits, sizeof from_ns);
            if (from_ns != 0) {
                latencies_ns_.push_back(now_ns() - from_ns);
            }
        }
        return true;
    }

    const settings& chosen_;
    void* socket_;
    std::uint32_t party_;
    outbox out_;
    std::vector<char> body_;
    std::vector<bool> answered_;
    std::vector<std::int64_t> latencies_ns_;
};

class broker {
public:
    broker(const settings& chosen, run_guard& guard)
        : chosen_(chosen),
          client_count_(static_cast<std::size_t>(extent(chosen.what, dimension::clients))),
          worker_count_(static_cast<std::size_t>(extent(chosen.what, dimension::workers))),
          window_(static_cast<std::uint64_t>(extent(chosen.what, dimension::window))),
          scene_(chosen, guard, static_cast<int>(2 + client_count_ + worker_count_)),
          each_(std::max<std::uint64_t>(1, chosen.count / client_count_)),
          warm_up_each_(std::max<std::uint64_t>(1, chosen.warm_up / client_count_))
    {}

    crowd_report measure()
    {
        socket& frontend = scene_.open_hub(ZMQ_ROUTER);
        socket& backend = scene_.open_hub(ZMQ_DEALER);
        const std::string clients_at = scene_.bind(frontend);
        const std::string workers_at = scene_.bind(backend);
        std::vector<void*> workers;
        for (std::size_t i = 0; i < worker_count_; ++i) {
            workers.push_back(connected(workers_at));
        }
        for (std::size_t i = 0; i < client_count_; ++i) {
            clients_.emplace_back(chosen_, connected(clients_at), static_cast<std::uint32_t>(i));
        }
        roll_call present(worker_count_);
        timed_part timed(client_count_);
        start_proxy(scene_, frontend, backend);
        for (void* const each : workers) {
            scene_.start_service([each, &present] { echo(each, present); });
        }
        for (client& each : clients_) {
            scene_.start([this, &each, &present, &timed] { request(each, present, timed); });
        }
        timed.begin();
        scene_.join();
        crowd_report report = timed.report(each_ * client_count_);
        scene_.end_services();
        report.latencies_ns = latencies_ns();
        return report;
    }

private:
    void* connected(const std::string& endpoint)
    {
        socket& added = scene_.open_party(ZMQ_DEALER);
        added.connect(endpoint);
        return added.handle();
    }

    void request(client& each, roll_call& present, timed_part& timed)
    {
        if (is_timed(chosen_.what)) {
            each.reserve_latencies(each_);
        }
        each.keep_window(warm_up_each_, window_, false);
        while (!present.wait_for(std::chrono::milliseconds(0))) {
            each.keep_window(worker_count_, 1, false);
        }
        timed.warmed_up();
        timed.wait_for_start();
        if (chosen_.what.mode == mode::loaded) {
            const auto clients = static_cast<double>(client_count_);
            pace paced(chosen_.per_second / clients);
            paced.start(static_cast<double>(&each - &clients_.front()) / clients);
            each.keep_pace(each_, paced);
        } else {
            each.keep_window(each_, window_, is_timed(chosen_.what));
        }
        timed.finished();
    }

    std::vector<std::int64_t> latencies_ns()
    {
        std::vector<std::int64_t> all;
        for (client& each : clients_) {
            all.insert(all.end(), each.latencies_ns().begin(), each.latencies_ns().end());
        }
        return all;
    }

    const settings& chosen_;
    std::size_t client_count_;
    std::size_t worker_count_;
    std::uint64_t window_;
    stage scene_;
    std::uint64_t each_; ///< requests of a client
    std::uint64_t warm_up_each_;
    std::vector<client> clients_;
};

} // namespace

crowd_report measure_broker(const settings& chosen, run_guard& guard)
{
    return broker(chosen, guard).measure();
}

} // namespace zlink::bench::worker
