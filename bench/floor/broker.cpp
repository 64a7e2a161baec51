// SPDX-License-Identifier: Apache-2.0
//
// Clients that keep a window of requests in flight, a thread that forwards them to workers in
// rotation and the replies back, and workers that echo.
#include "bare/sockets.hpp"
#include "floor/crowd.hpp"
#include "floor/records.hpp"
#include "worker/pace.hpp"
#include "worker/settings.hpp"
#include "worker/timed_part.hpp"
#include "worker/usage.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace zlink::bench {

namespace {

/// Between broker and workers a frame of its own names the client, as ROUTER and DEALER have it.
class address {
public:
    static constexpr std::size_t bytes = 7;

    static void append(std::vector<char>& to, std::uint32_t client)
    {
        constexpr char more_frames = 1;
        const std::array<char, 3> head{more_frames, bytes - 2, 0};
        to.insert(to.end(), head.begin(), head.end());
        const auto* const begin = reinterpret_cast<const char*>(&client);
        to.insert(to.end(), begin, begin + sizeof client);
    }

    static std::uint32_t read(const char* record)
    {
        std::uint32_t client = 0;
        std::memcpy(&client, record + bytes - sizeof client, sizeof client);
        return client;
    }
};

/// Sends requests and checks that each is answered once.
class client {
public:
    client(const crowd_run& wanted, const record_format& format, bare::channel& over,
           std::uint32_t party, std::chrono::nanoseconds tries_for)
        : wanted_(wanted),
          format_(format),
          over_(over),
          party_(party),
          tries_for_(tries_for),
          reader_(format.bytes())
    {}

    /// So many requests, of which `window` are in flight at a time.
    void keep_window(std::uint64_t count, std::uint64_t window, bool is_timed)
    {
        expect(count);
        for (std::uint64_t sent = 0; received_ < count;) {
            for (; sent < std::min(count, received_ + window); ++sent) {
                format_.append(gathered_, {party_, sent}, is_timed ? worker::now_ns() : 0);
            }
            write();
            reader_.read_waiting(
                over_, begun_, tries_for_,
                [this](const char* first, std::size_t records) { take_all(first, records); });
        }
    }

    /// So many requests, each when it is due, and at most `limit` in flight.
    void keep_pace(std::uint64_t count, std::uint64_t limit, worker::pace& paced)
    {
        over_.stop_waiting();
        expect(count);
        for (std::uint64_t sent = 0; received_ < count;) {
            const std::uint64_t end = std::min(count, received_ + limit);
            std::optional<std::int64_t> from_ns;
            while (sent < end && (from_ns = paced.take_due())) {
                format_.append(gathered_, {party_, sent}, *from_ns);
                ++sent;
            }
            write();
            if (wait_for_input(sent < end ? paced.next_due_ns() : -1)) {
                reader_.read_ready(over_, begun_, [this](const char* first, std::size_t records) {
                    take_all(first, records);
                });
            } else {
                paced.slept();
            }
        }
    }

    std::vector<std::int64_t>& latencies_ns() { return latencies_ns_; }

private:
    void expect(std::uint64_t count)
    {
        answered_.assign(count, false);
        received_ = 0;
    }

    void write()
    {
        over_.write_all(gathered_.data(), gathered_.size());
        gathered_.clear();
    }

    /// False if there is none at that time; -1: waits as long as it takes.
    bool wait_for_input(std::int64_t until_ns) const
    {
        pollfd entry{over_.handle(), POLLIN, 0};
        const std::int64_t left_ns = std::max<std::int64_t>(0, until_ns - worker::now_ns());
        const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
        return ::ppoll(&entry, 1, until_ns == -1 ? nullptr : &left, nullptr) > 0;
    }

    void take_all(const char* first, std::size_t records)
    {
        for (std::size_t i = 0; i < records; ++i) {
            take(first + i * format_.bytes());
        }
    }

    void take(const char* record)
    {
        const worker::message_number number = format_.number_of(record);
        if (number.party != party_ || number.sequence >= answered_.size() ||
            answered_[number.sequence]) {
            throw std::runtime_error(
                fmt::format("client {} got reply {} to client {}, which it did not expect", party_,
                            number.sequence, number.party));
        }
        answered_[number.sequence] = true;
        ++received_;
        const std::int64_t from_ns = format_.time_of(record);
        if (is_timed(wanted_.what) && from_ns != 0) {
            latencies_ns_.push_back(worker::now_ns() - from_ns);
        }
    }

    const crowd_run& wanted_;
    const record_format& format_;
    bare::channel& over_;
    std::uint32_t party_;
    std::chrono::nanoseconds tries_for_;
    record_reader reader_;
    record_reader::rest begun_;
    std::vector<char> gathered_;
    std::vector<bool> answered_;
    std::uint64_t received_ = 0;
    std::vector<std::int64_t> latencies_ns_;
};

/// Reads all there is from each end that has input, and writes to each end once in a turn.
class broker {
public:
    /// Those of the clients first.
    broker(const record_format& format, const std::vector<bare::channel*>& ends,
           std::size_t clients)
        : format_(format),
          clients_(clients),
          requests_(format.bytes()),
          replies_(address::bytes + format.bytes()),
          next_worker_(clients)
    {
        for (bare::channel* const each : ends) {
            each->stop_waiting();
            ready_.add(each->handle(), peers_.size());
            peers_.push_back({each});
        }
    }

    void run(const std::atomic<bool>& is_over, std::chrono::nanoseconds tries_for)
    {
        try {
            for (;;) {
                turn(tries_for);
            }
        } catch (const std::exception&) {
            if (!is_over) {
                throw;
            }
        }
    }

private:
    struct peer {
        bare::channel* end;
        record_reader::rest begun{};
        std::vector<char> gathered{};
        std::size_t written = 0;     ///< of what is gathered
        bool is_touched = false;     ///< in this turn
        bool waits_for_room = false; ///< as the watcher knows it
    };

    void turn(std::chrono::nanoseconds tries_for)
    {
        for (const bare::watcher::event& each : ready_.wait(tries_for)) {
            if (each.has_room) {
                touch(each.index);
            }
            if (each.has_input && each.index < clients_) {
                forward_requests(each.index);
            } else if (each.has_input) {
                return_replies(each.index);
            }
        }
        for (const std::size_t index : touched_) {
            write(index);
        }
        touched_.clear();
    }

    void forward_requests(std::size_t from)
    {
        peer& source = peers_[from];
        requests_.read_ready(
            *source.end, source.begun, [&](const char* first, std::size_t records) {
                for (std::size_t i = 0; i < records; ++i) {
                    std::vector<char>& to = touch(next_worker_);
                    next_worker_ = next_worker_ + 1 == peers_.size() ? clients_ : next_worker_ + 1;
                    address::append(to, static_cast<std::uint32_t>(from));
                    const char* const record = first + i * format_.bytes();
                    to.insert(to.end(), record, record + format_.bytes());
                }
            });
    }

    void return_replies(std::size_t from)
    {
        peer& source = peers_[from];
        replies_.read_ready(*source.end, source.begun, [&](const char* first, std::size_t records) {
            for (std::size_t i = 0; i < records; ++i) {
                const char* const record = first + i * (address::bytes + format_.bytes());
                const std::uint32_t client = address::read(record);
                if (client >= clients_) {
                    throw std::runtime_error("a reply is for a client that there is not");
                }
                std::vector<char>& to = touch(client);
                to.insert(to.end(), record + address::bytes,
                          record + address::bytes + format_.bytes());
            }
        });
    }

    /// What is gathered for a peer, which will be written at the end of the turn.
    std::vector<char>& touch(std::size_t index)
    {
        peer& touched = peers_[index];
        if (!touched.is_touched) {
            touched.is_touched = true;
            touched_.push_back(index);
        }
        return touched.gathered;
    }

    void write(std::size_t index)
    {
        peer& to = peers_[index];
        to.is_touched = false;
        to.written +=
            to.end->try_write(to.gathered.data() + to.written, to.gathered.size() - to.written);
        const bool is_left = to.written != to.gathered.size();
        if (!is_left) {
            to.gathered.clear();
            to.written = 0;
        }
        if (is_left != to.waits_for_room) {
            to.waits_for_room = is_left;
            ready_.want_room(to.end->handle(), index, is_left);
        }
    }

    const record_format& format_;
    std::size_t clients_;
    record_reader requests_;
    record_reader replies_;
    std::size_t next_worker_;
    bare::watcher ready_;
    std::vector<peer> peers_;
    std::vector<std::size_t> touched_;
};

/// Sends back what arrives, as much at once as there is, until its connection ends.
void echo(bare::channel& over, const std::atomic<bool>& is_over, std::chrono::nanoseconds tries_for)
{
    std::vector<char> bytes(128 * 1024);
    try {
        for (;;) {
            over.write_all(bytes.data(), over.read_soon(bytes.data(), bytes.size(), tries_for));
        }
    } catch (const std::exception&) {
        if (!is_over) {
            throw;
        }
    }
}

class brokerage {
public:
    /// `tries_for` is how long threads try to read before they sleep.
    brokerage(const crowd_run& wanted, std::chrono::nanoseconds tries_for)
        : wanted_(wanted),
          tries_for_(tries_for),
          format_(wanted.what.size_bytes),
          clients_(static_cast<std::size_t>(extent(wanted.what, dimension::clients))),
          workers_(static_cast<std::size_t>(extent(wanted.what, dimension::workers))),
          each_(std::max<std::uint64_t>(1, wanted.count / clients_)),
          warm_up_each_(std::max<std::uint64_t>(1, wanted.warm_up / clients_))
    {}

    worker::crowd_report measure()
    {
        std::vector<bare::channel*> hub;
        std::deque<client> clients;
        for (std::size_t i = 0; i < clients_ + workers_; ++i) {
            made_.push_back(bare::connect(wanted_.carrier));
            hub.push_back(made_.back().sink.get());
        }
        worker::timed_part timed(clients_);
        std::vector<std::thread> services;
        services.push_back(start_guarded(
            [this, &hub] { broker(format_, hub, clients_).run(is_over_, tries_for_); }));
        for (std::size_t i = clients_; i < made_.size(); ++i) {
            services.push_back(
                start_guarded([this, i] { echo(*made_[i].source, is_over_, tries_for_); }));
        }
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < clients_; ++i) {
            client& added = clients.emplace_back(wanted_, format_, *made_[i].source,
                                                 static_cast<std::uint32_t>(i), tries_for_);
            threads.push_back(
                start_guarded([this, &added, &timed, i] { run_client(added, timed, i); }));
        }
        timed.begin();
        for (std::thread& each : threads) {
            each.join();
        }
        worker::crowd_report report = timed.report(each_ * clients_);
        is_over_ = true;
        for (const bare::connection& each : made_) {
            each.source->shut_down();
        }
        for (std::thread& each : services) {
            each.join();
        }
        for (client& each : clients) {
            report.latencies_ns.insert(report.latencies_ns.end(), each.latencies_ns().begin(),
                                       each.latencies_ns().end());
        }
        return report;
    }

private:
    void run_client(client& own, worker::timed_part& timed, std::size_t index)
    {
        const auto window = static_cast<std::uint64_t>(extent(wanted_.what, dimension::window));
        own.keep_window(warm_up_each_, window, false);
        timed.warmed_up();
        timed.wait_for_start();
        if (wanted_.what.mode == mode::loaded) {
            const auto clients = static_cast<double>(clients_);
            worker::pace paced(wanted_.per_second / clients);
            paced.start(static_cast<double>(index) / clients);
            own.keep_pace(each_, worker::max_requests_under_way(wanted_.hwm), paced);
        } else {
            own.keep_window(each_, window, is_timed(wanted_.what));
        }
        timed.finished();
    }

    const crowd_run& wanted_;
    std::chrono::nanoseconds tries_for_;
    record_format format_;
    std::size_t clients_;
    std::size_t workers_;
    std::uint64_t each_; ///< requests of a client
    std::uint64_t warm_up_each_;
    std::deque<bare::connection> made_; ///< their sinks are the broker's ends
    std::atomic<bool> is_over_{false};
};

/// Was there more done in the same time, or were requests answered sooner?
bool is_better(const worker::crowd_report& one, const worker::crowd_report& other)
{
    if (one.latencies_ns.empty()) {
        return one.elapsed_ns < other.elapsed_ns;
    }
    const auto sum = [](const std::vector<std::int64_t>& times_ns) {
        return std::accumulate(times_ns.begin(), times_ns.end(), std::int64_t{0});
    };
    return sum(one.latencies_ns) < sum(other.latencies_ns);
}

} // namespace

worker::crowd_report measure_bare_broker(const crowd_run& wanted)
{
    // Which is better depends on how many threads there are for each processor.
    constexpr std::chrono::microseconds before_sleep(50);
    worker::crowd_report sleeping = brokerage(wanted, {}).measure();
    if (wanted.carrier == transport::tls) {
        return sleeping;
    }
    worker::crowd_report trying = brokerage(wanted, before_sleep).measure();
    return is_better(trying, sleeping) ? trying : sleeping;
}

} // namespace zlink::bench
