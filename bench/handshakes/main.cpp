// SPDX-License-Identifier: Apache-2.0
//
// Measures handshakes of TLS: a client makes connections to a server, one after the other, and
// sends a message on each. Client and server are OpenSSL alone or the libzmq.so.5 that the program
// loads, each in a thread of this process; they exchange the same, ZMTP included, in every case.
// The cases take turns. Prints a Markdown table with ratios to OpenSSL alone on both sides.
#include "bare/tls.hpp"
#include "common/cpu_time.hpp"
#include "handshakes/parties.hpp"
#include "runner/statistics.hpp"
#include "worker/zmq_handles.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>
#include <zmq.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace zlink::bench {

namespace {

using bare::tls_version;
using clock = std::chrono::steady_clock;

struct settings {
    int runs = 5;
    int connections = 500;
    unsigned timeout_s = 300;
};

settings parse(int argc, char** argv)
{
    settings chosen;
    CLI::App app("TLS handshakes of the libzmq.so.5 it loads, beside those of OpenSSL alone");
    app.add_option("--runs", chosen.runs, "Runs of each case, which take turns (5)")
        ->check(CLI::PositiveNumber);
    app.add_option("--connections", chosen.connections, "Connections of each run (500)")
        ->check(CLI::PositiveNumber);
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds for all of it (300)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    return chosen;
}

/// Who talks to whom, and what came of it, one value for each run.
struct measured_case {
    tls_version version;
    bool resume;
    party client;
    party server;
    std::vector<double> per_second{};
    std::vector<double> cpu_us{};

    bool is_baseline() const { return client == party::openssl && server == party::openssl; }
};

std::vector<measured_case> all_cases()
{
    std::vector<measured_case> cases;
    for (const tls_version version : {tls_version::tls_1_3, tls_version::tls_1_2}) {
        for (const bool resume : {false, true}) {
            for (const party client : {party::openssl, party::library}) {
                for (const party server : {party::openssl, party::library}) {
                    cases.push_back({version, resume, client, server});
                }
            }
        }
    }
    return cases;
}

void serve(handshake_server& server, int connections, arrivals& arrived)
{
    try {
        server.serve(connections, arrived);
    } catch (const std::exception& error) {
        fmt::print(stderr, "zlink_bench_handshakes: server: {}\n", error.what());
        std::fflush(stderr);
        std::_Exit(1); // the client may wait for what will not come
    }
}

/// One after the other; the first few, among them the one that gives a session to resume, do not
/// count.
void run(measured_case& what, int connections)
{
    constexpr int warm_up = 5;
    const auto server = make_server(what.server, what.version);
    const auto client = make_client(what.client, what.version, what.resume);
    arrivals arrived(0);
    cpu_time cpu_before;
    clock::time_point begin;
    for (const int some : {warm_up, connections}) {
        cpu_before = cpu_time::now();
        begin = clock::now();
        std::jthread serving([&] { serve(*server, some, arrived); });
        client->connect(server->port(), some, arrived);
    }
    const double elapsed_s = std::chrono::duration<double>(clock::now() - begin).count();
    what.per_second.push_back(connections / elapsed_s);
    what.cpu_us.push_back(static_cast<double>((cpu_time::now() - cpu_before).total_ns) * 1e-3 /
                          connections);
}

std::string text_of(const std::vector<double>& values, const char* format)
{
    const auto found = runner::spread_of(values);
    const auto text = [&](double value) { return fmt::format(fmt::runtime(format), value); };
    return fmt::format("{} [{} .. {}]", text(found->median), text(found->min), text(found->max));
}

/// Of each run to the run of the other case with the same number.
std::string ratio_text(const std::vector<double>& values, const std::vector<double>& to)
{
    if (&values == &to) {
        return "-";
    }
    std::vector<double> found;
    for (std::size_t i = 0; i < values.size(); ++i) {
        found.push_back(values[i] / to[i]);
    }
    return text_of(found, "{:.2f}");
}

const char* name(party who)
{
    return who == party::openssl ? "OpenSSL alone" : "library";
}

void report(const settings& chosen)
{
    fmt::print("Library: version {}, {}; OpenSSL {}\n", worker::library_version(),
               worker::library_path(), bare::openssl_version());
    if (zmq_has("tls") != 1) {
        fmt::print("The library has no transport tls: n/a\n");
        return;
    }
    std::vector<measured_case> cases = all_cases();
    for (int i = 0; i < chosen.runs; ++i) {
        for (measured_case& each : cases) {
            run(each, chosen.connections);
        }
    }
    fmt::print("\n| TLS | handshake | client | server | per second | ratio | CPU of both (us) | "
               "CPU ratio |\n|---|---|---|---|---:|---:|---:|---:|\n");
    const measured_case* baseline = nullptr;
    for (const measured_case& each : cases) {
        if (each.is_baseline()) {
            baseline = &each; // comes before those that are compared with it
        }
        fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n",
                   each.version == tls_version::tls_1_3 ? "1.3" : "1.2",
                   each.resume ? "resumed" : "full", name(each.client), name(each.server),
                   text_of(each.per_second, "{:.0f}"),
                   ratio_text(each.per_second, baseline->per_second),
                   text_of(each.cpu_us, "{:.0f}"), ratio_text(each.cpu_us, baseline->cpu_us));
    }
}

} // namespace

} // namespace zlink::bench

int main(int argc, char** argv)
{
    const auto chosen = zlink::bench::parse(argc, argv);
    std::signal(SIGPIPE, SIG_IGN); // OpenSSL writes to sockets as to files
    ::alarm(chosen.timeout_s);     // a run that hangs ends without a result
    try {
        zlink::bench::report(chosen);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "zlink_bench_handshakes: {}\n", error.what());
        std::fflush(stderr);
        std::_Exit(1); // the server's thread may wait for what will not come
    }
}
