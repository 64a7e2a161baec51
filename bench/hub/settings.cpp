// SPDX-License-Identifier: Apache-2.0
#include "hub/settings.hpp"

#include "worker/settings.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace zlink::bench::hub {

namespace {

/// Empty if there is none.
std::string contradiction(const settings& chosen)
{
    if (chosen.transport == transport::inproc) {
        return "the peers are other processes, which inproc does not reach";
    }
    if (chosen.processes > chosen.connections) {
        return "there are more processes than connections";
    }
    if (chosen.stalled >= chosen.peers_of(0)) {
        return "some peers of the first process have to read";
    }
    return {};
}

} // namespace

std::uint64_t settings::window() const
{
    constexpr std::uint64_t enough = 8; // what the datagrams that tell of rounds have room for
    return std::min(enough, worker::max_requests_under_way(hwm));
}

settings parse(int argc, char** argv)
{
    static const std::map<std::string, bool> patterns{{"router", false}, {"pub", true}};
    settings chosen;
    CLI::App app("One hub with very many connections; prints one JSON line");
    app.add_option("--pattern", chosen.publishes,
                   "router (a message to each DEALER in rotation) or pub (each message to all SUB)")
        ->transform(CLI::CheckedTransformer(patterns).description(""));
    app.add_option("--transport", chosen.transport, "tcp, ipc, ws, tls or wss")
        ->transform(CLI::CheckedTransformer(transport_names()).description(""));
    app.add_option("--connections", chosen.connections, "How many")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--processes", chosen.processes, "Processes that the peers are divided among")
        ->check(CLI::PositiveNumber);
    app.add_option("--stalled", chosen.stalled, "Peers that never read; messages to them are lost")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--io-threads", chosen.io_threads, "I/O threads of the hub")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--hwm", chosen.hwm, "High-water mark of every socket, 0 = none")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--size", chosen.size_bytes, "Message body in bytes, at least 8")
        ->check(CLI::Range(min_size_bytes, std::size_t{1} << 30));
    app.add_option("--rounds", chosen.rounds, "Timed messages to each peer")
        ->check(CLI::PositiveNumber);
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds after which the run has failed");
    try {
        app.parse(argc, argv);
        const std::string complaint = contradiction(chosen);
        if (!complaint.empty()) {
            throw CLI::ValidationError(complaint);
        }
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    return chosen;
}

} // namespace zlink::bench::hub
