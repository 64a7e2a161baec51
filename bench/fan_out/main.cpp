// SPDX-License-Identifier: Apache-2.0
//
// Measures one publisher with many subscribers on the libzmq.so.5 it loads and prints one line of
// JSON. Every message is counted and checked at every subscriber.
#include "common/cell.hpp"
#include "common/cpu_time.hpp"
#include "common/json.hpp"
#include "worker/endpoints.hpp"
#include "worker/security.hpp"
#include "worker/usage.hpp"
#include "worker/zmq_handles.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace zlink::bench {
namespace {

using worker::checked;
using worker::failure;
using worker::now_ns;

/// Of messages that only find out whether a subscription is active.
constexpr std::uint64_t probe_sequence = ~std::uint64_t{0};
/// The sink takes so many messages of a subscriber before it turns to the next. Less than the
/// high-water marks, so that the publisher is never stopped by a subscriber whose turn has not
/// come.
constexpr std::uint64_t messages_per_visit = 100;
/// Deliveries of a run unless told otherwise.
constexpr std::uint64_t default_deliveries = 2'000'000;
constexpr std::uint64_t default_paced_messages = 2'000;
constexpr int spare_sockets = 200;
constexpr int backlog = 4096;

struct settings {
    bench::transport transport = transport::tcp;
    int subscribers = 1;
    std::size_t size_bytes = 64;
    std::uint64_t count = 0;
    bool paced = false; ///< the next message only when all have the one before
    int hwm = 1000;
    int io_threads = 1;
    unsigned timeout_s = 120;
};

settings parse(int argc, char** argv)
{
    settings chosen;
    CLI::App app("One publisher, many subscribers; prints one JSON line");
    app.add_option("--transport", chosen.transport, "tcp, ipc, inproc, ws, tls or wss")
        ->transform(CLI::CheckedTransformer(transport_names()).description(""));
    app.add_option("--subscribers", chosen.subscribers, "How many")->check(CLI::PositiveNumber);
    app.add_option("--size", chosen.size_bytes, "Message body in bytes, at least 8")
        ->check(CLI::Range(min_size_bytes, std::size_t{1} << 30));
    app.add_option("--count", chosen.count, "Timed messages; 0 = derived");
    app.add_flag("--paced", chosen.paced,
                 "Publish the next message only when all subscribers have the one before");
    app.add_option("--hwm", chosen.hwm, "High-water mark of every socket, 0 or at least 100")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--io-threads", chosen.io_threads, "I/O threads of each context");
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds after which the run has failed");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    if (chosen.count == 0)
        chosen.count =
            chosen.paced
                ? std::max<std::uint64_t>(100, default_paced_messages /
                                                   static_cast<std::uint64_t>(chosen.subscribers))
                : default_deliveries / static_cast<std::uint64_t>(chosen.subscribers);
    return chosen;
}

std::int64_t thread_cpu_ns()
{
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// A directory for ipc endpoints.
struct directory {
    directory()
    {
        std::string text = (std::filesystem::temp_directory_path() / "fan_out.XXXXXX").string();
        if (!::mkdtemp(text.data()))
            throw failure("cannot make a temporary directory");
        path = text;
    }
    ~directory() { std::filesystem::remove_all(path); }
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;
    std::filesystem::path path;
};

/// What the two threads tell each other beside the library that is measured.
struct progress {
    std::atomic<int> reached{0};              ///< subscribers that have had a probe
    std::atomic<bool> start{false};           ///< the sink is ready for timed messages
    std::atomic<bool> sent_all{false};        ///< the publisher is done
    std::atomic<std::uint64_t> everywhere{0}; ///< paced: messages that all have received
    std::atomic<std::int64_t> publisher_cpu_ns{0};
};

void publish(void* publisher, std::vector<char>& body, std::uint64_t sequence)
{
    std::memcpy(body.data(), &sequence, sizeof sequence);
    checked(zmq_send(publisher, body.data(), body.size(), 0), "zmq_send");
}

void run_publisher(const settings& chosen, void* publisher, progress& shared)
{
    std::vector<char> body(chosen.size_bytes, 'x');
    while (shared.reached.load() < chosen.subscribers) {
        publish(publisher, body, probe_sequence);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    while (!shared.start.load())
        std::this_thread::yield();
    const std::int64_t before_ns = thread_cpu_ns();
    for (std::uint64_t sequence = 0; sequence < chosen.count; ++sequence) {
        publish(publisher, body, sequence);
        if (chosen.paced)
            shared.everywhere.wait(sequence);
    }
    shared.publisher_cpu_ns = thread_cpu_ns() - before_ns;
    shared.sent_all = true;
}

class sink {
public:
    sink(const settings& chosen, std::vector<worker::socket>& subscribers)
        : chosen_(chosen),
          subscribers_(subscribers),
          body_(chosen.size_bytes + 1),
          next_(subscribers.size(), 0)
    {}

    /// Until each has had a probe.
    void meet(progress& shared)
    {
        for (worker::socket& each : subscribers_) {
            if (receive(each) != probe_sequence)
                throw failure("the first message is not a probe");
            ++shared.reached;
        }
    }

    void take_all(progress& shared)
    {
        const std::uint64_t per_visit = chosen_.paced ? 1 : messages_per_visit;
        for (std::uint64_t done = 0; done < chosen_.count;) {
            const std::uint64_t until = std::min(done + per_visit, chosen_.count);
            for (std::size_t i = 0; i < subscribers_.size(); ++i)
                while (next_[i] < until)
                    take(i);
            done = until;
            shared.everywhere.store(done);
            if (chosen_.paced)
                shared.everywhere.notify_one();
        }
    }

private:
    std::uint64_t receive(worker::socket& from)
    {
        const int size =
            checked(zmq_recv(from.handle(), body_.data(), body_.size(), 0), "zmq_recv");
        if (static_cast<std::size_t>(size) != chosen_.size_bytes)
            throw failure(fmt::format("a message of {} bytes", size));
        std::uint64_t sequence = 0;
        std::memcpy(&sequence, body_.data(), sizeof sequence);
        return sequence;
    }

    void take(std::size_t i)
    {
        const std::uint64_t sequence = receive(subscribers_[i]);
        if (sequence == probe_sequence)
            return;
        if (sequence != next_[i])
            throw failure(
                fmt::format("subscriber {}: message {} instead of {}", i, sequence, next_[i]));
        ++next_[i];
    }

    const settings& chosen_;
    std::vector<worker::socket>& subscribers_;
    std::vector<char> body_;
    std::vector<std::uint64_t> next_;
};

void set_up_context(const worker::context& context, int sockets)
{
    checked(zmq_ctx_set(context.handle(), ZMQ_MAX_SOCKETS, sockets + spare_sockets),
            "zmq_ctx_set(ZMQ_MAX_SOCKETS)");
}

std::string measure(const settings& chosen)
{
    worker::require_descriptors_for(chosen.subscribers);
    worker::require_transport(chosen.transport);
    cell what;
    what.transport = chosen.transport;
    const directory files;
    const worker::context publishing(chosen.io_threads);
    const worker::context others(chosen.io_threads);
    const bool together = chosen.transport == transport::inproc;
    const worker::context& subscribing = together ? publishing : others;
    set_up_context(publishing, chosen.subscribers);
    set_up_context(others, chosen.subscribers);

    worker::socket publisher(publishing, ZMQ_PUB);
    publisher.set(ZMQ_SNDHWM, chosen.hwm);
    publisher.set(ZMQ_XPUB_NODROP, 1);
    publisher.set(ZMQ_BACKLOG, backlog);
    worker::secure_server(publisher, what);
    publisher.bind(worker::endpoint_to_bind(chosen.transport, files.path.string(), "fan_out"));
    const std::string where = publisher.last_endpoint();

    const std::int64_t set_up_from_ns = now_ns();
    std::vector<worker::socket> subscribers;
    for (int i = 0; i < chosen.subscribers; ++i) {
        worker::socket& fresh = subscribers.emplace_back(subscribing, ZMQ_SUB);
        fresh.set(ZMQ_RCVHWM, chosen.hwm);
        fresh.set(ZMQ_SUBSCRIBE, "");
        worker::secure_client(fresh, what);
        fresh.connect(where);
    }
    progress shared;
    sink all(chosen, subscribers);
    std::thread source([&] {
        try {
            run_publisher(chosen, publisher.handle(), shared);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "publisher: %s\n", error.what());
            std::_Exit(1);
        }
    });
    all.meet(shared);
    const std::int64_t start_ns = now_ns();
    const cpu_time cpu_before = cpu_time::now();
    shared.start = true;
    all.take_all(shared);
    const std::int64_t end_ns = now_ns();
    const cpu_time cpu = cpu_time::now() - cpu_before;
    source.join();

    const auto deliveries =
        static_cast<double>(chosen.count) * static_cast<double>(chosen.subscribers);
    const auto elapsed_ns = static_cast<double>(end_ns - start_ns);
    return json_object()
        .add("status", "ok")
        .add("transport", name(chosen.transport))
        .add("subscribers", chosen.subscribers)
        .add("size_bytes", std::uint64_t{chosen.size_bytes})
        .add("count", chosen.count)
        .add("mode", chosen.paced ? "paced" : "stream")
        .add("library_version", worker::library_version())
        .add("library_path", worker::library_path())
        .add("set_up_s", static_cast<double>(start_ns - set_up_from_ns) * 1e-9)
        .add("elapsed_s", elapsed_ns * 1e-9)
        .add("deliveries_per_s", deliveries / elapsed_ns * 1e9)
        .add("us_per_message", elapsed_ns * 1e-3 / static_cast<double>(chosen.count))
        .add("cpu_ns_per_delivery", static_cast<double>(cpu.total_ns) / deliveries)
        .add("publisher_cpu_ns_per_delivery",
             static_cast<double>(shared.publisher_cpu_ns.load()) / deliveries)
        .add("peak_memory_kib", worker::peak_memory_kib())
        .str();
}

} // namespace
} // namespace zlink::bench

int main(int argc, char** argv)
{
    const auto chosen = zlink::bench::parse(argc, argv);
    ::alarm(chosen.timeout_s); // a run that hangs ends without a result
    try {
        std::puts(zlink::bench::measure(chosen).c_str());
        return 0;
    } catch (const zlink::bench::worker::unsupported& error) {
        std::puts(zlink::bench::json_object()
                      .add("status", "skipped")
                      .add("error", error.what())
                      .str()
                      .c_str());
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        std::fflush(stderr);
        std::_Exit(1); // threads may be waiting for what will not come
    }
}
