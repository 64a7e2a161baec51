// SPDX-License-Identifier: Apache-2.0
#include "hub/peers.hpp"

#include "common/cpu_time.hpp"
#include "worker/numbering.hpp"
#include "worker/security.hpp"
#include "worker/usage.hpp"
#include "worker/zmq_handles.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>

namespace zlink::bench::hub {

namespace {

using worker::checked;
using worker::failure;

constexpr int spare_sockets = 100;

/// The sockets of one process, all in one thread, which takes one message of each in rotation.
class peers {
public:
    peers(const settings& chosen, int process, worker::control_channel& control)
        : chosen_(chosen),
          first_(static_cast<std::uint32_t>(chosen.first_of(process))),
          stalled_(static_cast<std::size_t>(chosen.stalled_of(process))),
          control_(control),
          owner_(1),
          body_(chosen.size_bytes + 1),
          arrived_ns_(static_cast<std::size_t>(chosen.peers_of(process)), 0)
    {
        checked(
            zmq_ctx_set(owner_.handle(), ZMQ_MAX_SOCKETS, chosen.peers_of(process) + spare_sockets),
            "zmq_ctx_set(ZMQ_MAX_SOCKETS)");
    }

    void run()
    {
        const std::string endpoint = control_.receive();
        const std::uint64_t before_kib = worker::resident_memory_kib();
        for (std::uint32_t i = 0; i < arrived_ns_.size(); ++i) {
            connect(endpoint, first_ + i);
        }
        for (std::uint64_t round = 0; round < chosen_.warm_up(); ++round) {
            receive_round(round);
        }
        peers_report report;
        report.grown_kib = worker::resident_memory_kib() - before_kib;
        const cpu_time before = cpu_time::now();
        std::ranges::fill(arrived_ns_, 0);
        for (std::uint64_t round = 0; round < chosen_.rounds; ++round) {
            receive_round(chosen_.warm_up() + round);
        }
        report.cpu_ns = (cpu_time::now() - before).total_ns;
        report.longest_pause_ns = longest_pause_ns_;
        control_.send(report.text());
    }

private:
    void connect(const std::string& endpoint, std::uint32_t party)
    {
        worker::socket& added =
            sockets_.emplace_back(owner_, chosen_.publishes ? ZMQ_SUB : ZMQ_DEALER);
        added.set(ZMQ_SNDHWM, chosen_.hwm);
        added.set(ZMQ_RCVHWM, chosen_.hwm);
        cell what;
        what.transport = chosen_.transport;
        worker::secure_client(added, what);
        if (chosen_.publishes) {
            added.set(ZMQ_SUBSCRIBE, "");
        } else {
            added.set(ZMQ_ROUTING_ID, fmt::format("p{:07}", party));
        }
        added.connect(endpoint);
        if (!chosen_.publishes) {
            checked(zmq_send(added.handle(), "", 0, 0), "zmq_send");
        }
    }

    void receive_round(std::uint64_t round)
    {
        for (std::size_t i = stalled_; i < sockets_.size(); ++i) {
            const worker::message_number number = receive(sockets_[i]);
            const std::uint32_t expected =
                chosen_.publishes ? 0 : first_ + static_cast<std::uint32_t>(i);
            if (number.party != expected || number.sequence != round) {
                throw failure(fmt::format("peer {}: message {} of {} instead of {} of {}",
                                          first_ + i, number.sequence, number.party, round,
                                          expected));
            }
            const std::int64_t now_ns = worker::now_ns();
            if (arrived_ns_[i] != 0) {
                longest_pause_ns_ = std::max(longest_pause_ns_, now_ns - arrived_ns_[i]);
            }
            arrived_ns_[i] = now_ns;
        }
        control_.send("round");
    }

    worker::message_number receive(const worker::socket& from)
    {
        const int size =
            checked(zmq_recv(from.handle(), body_.data(), body_.size(), 0), "zmq_recv");
        if (static_cast<std::size_t>(size) != chosen_.size_bytes) {
            throw failure(fmt::format("received {} bytes instead of {}", size, chosen_.size_bytes));
        }
        std::uint64_t bits = 0;
        std::memcpy(&bits, body_.data(), sizeof bits);
        return worker::message_number::from(bits);
    }

    const settings& chosen_;
    std::uint32_t first_;
    std::size_t stalled_; ///< the first ones
    worker::control_channel& control_;
    worker::context owner_;
    std::deque<worker::socket> sockets_;
    std::vector<char> body_;
    std::vector<std::int64_t> arrived_ns_; ///< the last message of each; 0: none yet
    std::int64_t longest_pause_ns_ = 0;
};

[[noreturn]] void become_peers(const settings& chosen, int process, pid_t parent,
                               worker::control_channel& control)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        std::_Exit(1);
    }
    try {
        peers(chosen, process, control).run();
        std::_Exit(0);
    } catch (const std::exception& error) {
        fmt::print(stderr, "peers: {}\n", error.what());
        std::fflush(stderr);
        std::_Exit(1);
    }
}

} // namespace

peers_report peers_report::parse(const std::string& text)
{
    long long pause_ns = 0;
    long long cpu_ns = 0;
    unsigned long long kib = 0;
    if (std::sscanf(text.c_str(), "report %lld %lld %llu", &pause_ns, &cpu_ns, &kib) != 3) {
        throw failure("expected a report of the peers, not '" + text + "'");
    }
    return {pause_ns, cpu_ns, kib};
}

std::string peers_report::text() const
{
    return fmt::format("report {} {} {}", longest_pause_ns, cpu_ns, grown_kib);
}

peers_process::peers_process(pid_t id, worker::control_channel control)
    : id_(id), control_(std::move(control))
{}

std::vector<peers_process> peers_process::start(const settings& chosen)
{
    std::vector<peers_process> started;
    const pid_t parent = ::getpid();
    for (int process = 0; process < chosen.processes; ++process) {
        auto [mine, others] = worker::control_channel::make_pair();
        const pid_t id = ::fork();
        if (id < 0) {
            throw failure(fmt::format("fork: {}", std::strerror(errno)));
        }
        if (id == 0) {
            // Whoever holds an end keeps the other side from noticing that this process is gone.
            started.clear();
            {
                const worker::control_channel closed = std::move(mine);
            }
            become_peers(chosen, process, parent, others);
        }
        started.push_back(peers_process(id, std::move(mine)));
    }
    return started;
}

void peers_process::join()
{
    int status = 0;
    if (::waitpid(id_, &status, 0) != id_ || status != 0) {
        throw failure("a process of peers has failed");
    }
}

} // namespace zlink::bench::hub
