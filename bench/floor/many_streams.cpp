// SPDX-License-Identifier: Apache-2.0
//
// One thread that sends to many, many that send to one, and a thread that forwards to many.
#include "floor/arrivals.hpp"
#include "floor/batch.hpp"
#include "floor/crowd.hpp"
#include "worker/timed_part.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace zlink::bench {

namespace {

/// Where the connections of a cell begin or end.
using ends = std::vector<std::unique_ptr<bare::channel>>;

std::vector<bare::channel*> borrow(const ends& owned, std::size_t first, std::size_t count)
{
    std::vector<bare::channel*> borrowed;
    for (std::size_t i = first; i < first + count; ++i) {
        borrowed.push_back(owned[i].get());
    }
    return borrowed;
}

struct connections {
    ends sources;
    ends sinks;

    connections(transport over, std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i) {
            bare::connection made = bare::connect(over);
            sources.push_back(std::move(made.source));
            sinks.push_back(std::move(made.sink));
        }
    }
};

/// How a cell is made up: threads that send over connections of their own, and connections that
/// all get each message (forwarder: behind one more connection for each sender).
struct plan {
    std::size_t threads = 1;
    std::size_t batches_each = 1; ///< of a thread, which fills them in rotation
    std::size_t copies = 1;       ///< connections that a batch is written to
    bool has_forwarder = false;

    std::size_t batches() const { return threads * batches_each; }
    std::size_t receiving() const { return batches_each * copies * (has_forwarder ? 1 : threads); }
    /// Messages that arrive for each one that every batch has been given.
    std::size_t deliveries() const { return batches() * copies; }
};

plan plan_of(const cell& what)
{
    const auto size = [&what](dimension which) {
        return static_cast<std::size_t>(extent(what, which));
    };
    plan made;
    switch (what.pattern) {
    case pattern::to_many_router:
    case pattern::to_many_push:
        made.batches_each = size(dimension::peers);
        break;
    case pattern::to_many_pub:
        made.copies = size(dimension::peers);
        break;
    case pattern::from_many_push:
    case pattern::from_many_dealer:
        made.threads = size(dimension::threads);
        made.batches_each = size(dimension::sockets);
        break;
    default: // forwarder
        made.threads = size(dimension::publishers);
        made.copies = size(dimension::subscribers);
        made.has_forwarder = true;
        break;
    }
    return made;
}

/// Reads what publishers send and writes it to all subscribers, as much at once as there is.
class forwarder {
public:
    forwarder(const record_format& format, const connections& publishing,
              const connections& subscribed)
        : format_(format), from_(publishing.sinks), to_(subscribed.sources)
    {
        for (std::size_t i = 0; i < from_.size(); ++i) {
            from_[i]->stop_waiting();
            ready_.add(from_[i]->handle(), i);
        }
    }

    /// Until so many messages have been forwarded.
    void run(std::uint64_t count)
    {
        record_reader reader(format_.bytes());
        std::vector<record_reader::rest> begun(from_.size());
        while (count != 0) {
            for (const bare::watcher::event& each : ready_.wait()) {
                reader.read_ready(*from_[each.index], begun[each.index],
                                  [&](const char* first, std::size_t records) {
                                      for (const auto& subscriber : to_) {
                                          subscriber->write_all(first, records * format_.bytes());
                                      }
                                      count -= records;
                                  });
            }
        }
    }

private:
    const record_format& format_;
    const ends& from_;
    const ends& to_;
    bare::watcher ready_;
};

class many_streams {
public:
    explicit many_streams(const crowd_run& wanted)
        : wanted_(wanted),
          plan_(plan_of(wanted.what)),
          format_(wanted.what.size_bytes),
          rounds_(std::max<std::uint64_t>(1, wanted.count / plan_.deliveries())),
          warm_up_rounds_(std::max<std::uint64_t>(1, wanted.warm_up / plan_.deliveries())),
          received_(wanted.carrier, plan_.receiving())
    {
        if (plan_.has_forwarder) {
            published_.emplace(wanted.carrier, plan_.threads);
        }
    }

    worker::crowd_report measure()
    {
        make_receivers();
        worker::timed_part timed(receivers_.size());
        std::vector<std::thread> threads;
        if (published_) {
            threads.push_back(start_guarded([this] {
                forwarder(format_, *published_, received_)
                    .run((warm_up_rounds_ + rounds_) * plan_.threads);
            }));
        }
        for (receiver& each : receivers_) {
            threads.push_back(start_guarded([this, &each, &timed] {
                each.checker.receive(warm_up_rounds_ * each.per_round);
                timed.warmed_up();
                each.checker.receive(rounds_ * each.per_round);
                timed.finished();
            }));
        }
        for (std::size_t thread = 0; thread < plan_.threads; ++thread) {
            threads.push_back(start_guarded([this, &timed, thread] { send(timed, thread); }));
        }
        timed.begin();
        for (std::thread& each : threads) {
            each.join();
        }
        worker::crowd_report report = timed.report(rounds_ * plan_.deliveries());
        for (receiver& each : receivers_) {
            each.checker.require_complete(warm_up_rounds_ + rounds_);
            const auto& more = each.checker.latencies_ns();
            report.latencies_ns.insert(report.latencies_ns.end(), more.begin(), more.end());
        }
        return report;
    }

private:
    struct receiver {
        arrivals_checker checker;
        std::uint64_t per_round; ///< messages that arrive in each round
        receiver(const record_format& format, std::vector<bare::channel*> from,
                 const arrivals_checker::senders& expected, std::uint64_t arriving)
            : checker(format, std::move(from), expected), per_round(arriving)
        {}
    };

    /// Each has its share of the connections, as in the worker.
    void make_receivers()
    {
        const std::size_t all = received_.sinks.size();
        const auto threads = static_cast<std::size_t>(wanted_.receivers);
        if (threads > all) {
            throw std::runtime_error("there are more receiving threads than connections");
        }
        for (std::size_t i = 0; i < threads; ++i) {
            const std::size_t first = all * i / threads;
            const std::size_t count = all * (i + 1) / threads - first;
            arrivals_checker::senders expected;
            expected.is_own_party = plan_.copies == 1 && !plan_.has_forwarder;
            expected.first_party = first;
            expected.parties = plan_.has_forwarder ? plan_.threads : 1;
            receivers_.emplace_back(format_, borrow(received_.sinks, first, count), expected,
                                    count * expected.parties);
        }
    }

    std::vector<batch> batches_of(std::size_t thread) const
    {
        const ends& sources = published_ ? published_->sources : received_.sources;
        const std::size_t limit = batch_limit_bytes(format_.bytes(), rounds_, wanted_.hwm);
        const std::size_t copies = published_ ? 1 : plan_.copies;
        std::vector<batch> made;
        for (std::size_t i = 0; i < plan_.batches_each; ++i) {
            const std::size_t first = (thread * plan_.batches_each + i) * copies;
            made.emplace_back(format_, borrow(sources, first, copies), limit);
        }
        return made;
    }

    void send(worker::timed_part& timed, std::size_t thread)
    {
        std::vector<batch> through = batches_of(thread);
        const auto party = static_cast<std::uint32_t>(thread * plan_.batches_each);
        send_rounds(through, {0, warm_up_rounds_, party}, nullptr);
        timed.wait_for_start();
        std::optional<worker::pace> paced;
        if (wanted_.what.mode == mode::loaded) {
            const auto threads = static_cast<double>(plan_.threads);
            // What is counted are deliveries.
            paced.emplace(wanted_.per_second / threads / static_cast<double>(plan_.copies));
            paced->start(static_cast<double>(thread) / threads);
        }
        send_rounds(through, {warm_up_rounds_, rounds_, party}, paced ? &*paced : nullptr);
    }

    const crowd_run& wanted_;
    plan plan_;
    record_format format_;
    std::uint64_t rounds_; ///< each batch is given one message in each
    std::uint64_t warm_up_rounds_;
    connections received_;
    std::optional<connections> published_; ///< from publishers to the thread that forwards
    std::deque<receiver> receivers_;
};

} // namespace

worker::crowd_report measure_many_streams(const crowd_run& wanted)
{
    return many_streams(wanted).measure();
}

} // namespace zlink::bench
