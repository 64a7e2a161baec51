// SPDX-License-Identifier: Apache-2.0
//
// Measures one socket with thousands of connections on the libzmq.so.5 it loads and prints one line
// of JSON: how fast the peers, in other processes, connect all at once, what memory a connection
// takes, how fast messages go to all of them, and how long any of them had to wait for the next
// one. Every message is checked.
#include "common/cpu_time.hpp"
#include "common/json.hpp"
#include "hub/peers.hpp"
#include "hub/settings.hpp"
#include "worker/endpoints.hpp"
#include "worker/numbering.hpp"
#include "worker/security.hpp"
#include "worker/usage.hpp"
#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace zlink::bench::hub {
namespace {

using worker::checked;
using worker::failure;
using worker::now_ns;

/// A directory for ipc endpoints.
class directory {
public:
    directory()
    {
        std::string text = (std::filesystem::temp_directory_path() / "hub.XXXXXX").string();
        if (::mkdtemp(text.data()) == nullptr) {
            throw failure("cannot make a temporary directory");
        }
        path_ = text;
    }
    ~directory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    directory(const directory&) = delete;
    directory& operator=(const directory&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// Raises the limit of open descriptors to what this process may have. Each process has its own
/// limit, and all have the same.
void require_descriptors(const settings& chosen)
{
    constexpr rlim_t spare = 200;
    constexpr rlim_t per_peer = 3; // its connection, and what its socket may have for itself
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const auto of_hub = static_cast<rlim_t>(chosen.connections) + spare;
    const auto of_peers =
        per_peer * static_cast<rlim_t>(chosen.peers_of(chosen.processes - 1) + 1) + spare;
    if (limit.rlim_cur < of_hub) {
        throw failure(fmt::format("the hub needs {} descriptors, and the hard limit is {} "
                                  "(ulimit -Hn): fewer --connections, or a higher limit",
                                  of_hub, limit.rlim_cur));
    }
    if (limit.rlim_cur < of_peers) {
        throw failure(fmt::format("each process of peers needs {} descriptors, and the hard limit "
                                  "is {} (ulimit -Hn): more --processes, or a higher limit",
                                  of_peers, limit.rlim_cur));
    }
}

std::uint64_t grown_since(std::uint64_t before_kib)
{
    const std::uint64_t now_kib = worker::resident_memory_kib();
    return now_kib > before_kib ? now_kib - before_kib : 0;
}

class hub {
public:
    hub(const settings& chosen, std::vector<peers_process>& peers)
        : chosen_(chosen),
          peers_(peers),
          before_kib_(worker::resident_memory_kib()),
          owner_(chosen.io_threads),
          socket_(owner_, chosen.publishes ? ZMQ_XPUB : ZMQ_ROUTER),
          body_(chosen.size_bytes, 'z')
    {
        constexpr int backlog = 4096;
        socket_.set(ZMQ_SNDHWM, chosen.hwm);
        socket_.set(ZMQ_RCVHWM, chosen.hwm);
        socket_.set(ZMQ_BACKLOG, backlog);
        if (chosen.publishes) {
            socket_.set(ZMQ_XPUB_VERBOSE, 1); // tells of every subscription
        }
        if (chosen.stalled == 0) {
            // Waits for room instead of dropping.
            socket_.set(chosen.publishes ? ZMQ_XPUB_NODROP : ZMQ_ROUTER_MANDATORY, 1);
        }
        for (int i = 0; i < chosen.connections; ++i) {
            ids_.push_back(fmt::format("p{:07}", i));
        }
        cell what;
        what.transport = chosen.transport;
        worker::secure_server(socket_, what);
        socket_.bind(worker::endpoint_to_bind(chosen.transport, chosen.directory, "hub"));
    }

    json_object measure()
    {
        json_object line;
        connect_all(line);
        for (std::uint64_t round = 0; round < chosen_.warm_up(); ++round) {
            send_round(round);
        }
        await_rounds(chosen_.warm_up());
        const cpu_time cpu_before = cpu_time::now();
        const std::int64_t start_ns = now_ns();
        const std::uint64_t end = chosen_.warm_up() + chosen_.rounds;
        for (std::uint64_t round = chosen_.warm_up(); round < end; ++round) {
            send_round(round);
        }
        await_rounds(end);
        const auto elapsed_ns = static_cast<double>(now_ns() - start_ns);
        const cpu_time own = cpu_time::now() - cpu_before;
        add_traffic(line, elapsed_ns, own.total_ns);
        return line;
    }

private:
    /// From the first call of connect until the last peer is known.
    void connect_all(json_object& line)
    {
        const cpu_time cpu_before = cpu_time::now();
        const std::int64_t start_ns = now_ns();
        for (peers_process& each : peers_) {
            each.connect(socket_.last_endpoint());
        }
        receive_greetings();
        const auto count = static_cast<double>(chosen_.connections);
        const double elapsed_s = static_cast<double>(now_ns() - start_ns) * 1e-9;
        const cpu_time cpu = cpu_time::now() - cpu_before;
        const auto grown_kib = static_cast<double>(grown_since(before_kib_));
        // What the connections needed while they came about, the allocator may keep for others.
        ::malloc_trim(0);
        line.add("connect_s", elapsed_s)
            .add("connects_per_s", count / elapsed_s)
            .add("hub_cpu_us_per_connect", static_cast<double>(cpu.total_ns) * 1e-3 / count)
            .add("hub_memory_per_connection_kib", grown_kib / count)
            .add("hub_memory_per_idle_connection_kib",
                 static_cast<double>(grown_since(before_kib_)) / count);
    }

    /// Routing ids with empty messages behind them, or subscriptions.
    void receive_greetings()
    {
        std::array<char, 16> frame{};
        const int frames = (chosen_.publishes ? 1 : 2) * chosen_.connections;
        for (int i = 0; i < frames; ++i) {
            checked(zmq_recv(socket_.handle(), frame.data(), frame.size(), 0), "zmq_recv");
        }
    }

    void send(worker::message_number number)
    {
        const std::uint64_t bits = number.bits();
        std::memcpy(body_.data(), &bits, sizeof bits);
        checked(zmq_send(socket_.handle(), body_.data(), body_.size(), 0), "zmq_send");
    }

    void send_round(std::uint64_t round)
    {
        if (round >= chosen_.window()) {
            await_rounds(round - chosen_.window() + 1);
        }
        if (chosen_.publishes) {
            send({0, round});
            return;
        }
        for (std::uint32_t i = 0; i < ids_.size(); ++i) {
            checked(zmq_send(socket_.handle(), ids_[i].data(), ids_[i].size(), ZMQ_SNDMORE),
                    "zmq_send");
            send({i, round});
        }
    }

    /// Until all that read have so many rounds.
    void await_rounds(std::uint64_t count)
    {
        for (; complete_ < count; ++complete_) {
            for (peers_process& each : peers_) {
                each.await_round();
            }
        }
    }

    void add_traffic(json_object& line, double elapsed_ns, std::int64_t own_cpu_ns)
    {
        peers_report all;
        for (peers_process& each : peers_) {
            const peers_report one = each.report();
            all.longest_pause_ns = std::max(all.longest_pause_ns, one.longest_pause_ns);
            all.cpu_ns += one.cpu_ns;
            all.grown_kib += one.grown_kib;
            each.join();
        }
        const auto connections = static_cast<double>(chosen_.connections);
        const auto rounds = static_cast<double>(chosen_.rounds);
        const double deliveries = (connections - chosen_.stalled) * rounds;
        line.add("elapsed_s", elapsed_ns * 1e-9)
            .add("deliveries_per_s", deliveries / elapsed_ns * 1e9)
            .add("mean_round_ms", elapsed_ns * 1e-6 / rounds)
            .add("longest_pause_ms", static_cast<double>(all.longest_pause_ns) * 1e-6)
            .add("cpu_us_per_delivery",
                 static_cast<double>(own_cpu_ns + all.cpu_ns) * 1e-3 / deliveries)
            .add("hub_cpu_us_per_delivery", static_cast<double>(own_cpu_ns) * 1e-3 / deliveries)
            .add("peer_memory_per_connection_kib", static_cast<double>(all.grown_kib) / connections)
            .add("hub_peak_memory_kib", worker::peak_memory_kib());
    }

    const settings& chosen_;
    std::vector<peers_process>& peers_;
    std::uint64_t before_kib_;
    worker::context owner_;
    worker::socket socket_;
    std::vector<std::string> ids_;
    std::vector<char> body_;
    std::uint64_t complete_ = 0; ///< rounds that all peers have
};

std::string measure(const settings& chosen)
{
    require_descriptors(chosen);
    std::vector<peers_process> peers = peers_process::start(chosen);
    worker::require_transport(chosen.transport);
    json_object line = hub(chosen, peers).measure();
    return line.add("status", "ok")
        .add("pattern", chosen.publishes ? "pub" : "router")
        .add("transport", name(chosen.transport))
        .add("connections", chosen.connections)
        .add("processes", chosen.processes)
        .add("stalled", chosen.stalled)
        .add("io_threads", chosen.io_threads)
        .add("hwm", chosen.hwm)
        .add("size_bytes", std::uint64_t{chosen.size_bytes})
        .add("rounds", chosen.rounds)
        .add("library_version", worker::library_version())
        .add("library_path", worker::library_path())
        .str();
}

} // namespace
} // namespace zlink::bench::hub

int main(int argc, char** argv)
{
    using namespace zlink::bench;
    hub::settings chosen = hub::parse(argc, argv);
    ::alarm(chosen.timeout_s); // a run that hangs ends without a result, and the peers with it
    try {
        const hub::directory files;
        chosen.directory = files.path();
        std::puts(hub::measure(chosen).c_str());
        return 0;
    } catch (const worker::unsupported& error) {
        std::puts(json_object().add("status", "skipped").add("error", error.what()).str().c_str());
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
