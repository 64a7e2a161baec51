// SPDX-License-Identifier: Apache-2.0
// Sends numbered messages through every combination of pattern, transport, size, count, high-water
// mark and kind of receiver, and demands all of them, intact and in order.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "no_loss_cell.hpp"
#include "support/link_kind.hpp"

namespace {

using namespace zlink::test;

const std::vector<flow> all_flows{flow::pair,          flow::pub_sub,       flow::push_pull,
                                  flow::dealer_dealer, flow::dealer_router, flow::router_router};

// The rows of the table of links: transports, and mechanisms over tcp.
std::vector<std::string> available_transports()
{
    std::vector<std::string> names;
    for (const link_kind each : all_links())
        names.emplace_back(name_of(each));
    return names;
}

std::map<std::string, flow> names_of(const std::vector<flow>& values)
{
    std::map<std::string, flow> names;
    for (const flow value : values)
        names[name_of(value)] = value;
    return names;
}

struct settings {
    std::vector<flow> patterns = all_flows;
    std::vector<std::string> transports = available_transports();
    std::vector<std::size_t> sizes_bytes{64, 1024};
    std::vector<std::uint64_t> counts{2'000, 10'000, 200'000};
    std::vector<int> hwms{1, 10, 1000, 0};
    std::vector<std::string> receivers{"fast", "slow"};
    int runs = 1;
    double scale = 1.0;
    long stall_ms = 15'000;
};

std::vector<cell> cells_of(const settings& chosen)
{
    std::vector<cell> cells;
    for (const flow pattern : chosen.patterns)
        for (const std::string& link : chosen.transports)
            for (const std::size_t size : chosen.sizes_bytes)
                for (const std::uint64_t count : chosen.counts)
                    for (const int hwm : chosen.hwms)
                        for (const std::string& receiver : chosen.receivers) {
                            const double scaled = static_cast<double>(count) * chosen.scale;
                            cells.push_back({pattern, link, size,
                                             std::max<std::uint64_t>(1, std::uint64_t(scaled)), hwm,
                                             receiver == "slow"});
                        }
    return cells;
}

void add_options(CLI::App& app, settings& chosen)
{
    app.add_option("--patterns", chosen.patterns, "Patterns to run")
        ->transform(CLI::CheckedTransformer(names_of(all_flows)));
    app.add_option("--transports", chosen.transports,
                   "Transports to run; else all that the library has")
        ->check(CLI::IsMember(available_transports()));
    app.add_option("--sizes", chosen.sizes_bytes, "Message sizes in bytes")
        ->check(CLI::Range(16, 100'000'000));
    app.add_option("--counts", chosen.counts, "Messages per cell");
    app.add_option("--hwm", chosen.hwms, "High-water marks, set on both sides and directions");
    app.add_option("--receivers", chosen.receivers, "fast, slow or both")
        ->check(CLI::IsMember({"fast", "slow"}));
    app.add_option("--runs", chosen.runs, "Repetitions of the whole matrix");
    app.add_option("--scale", chosen.scale, "Factor on all counts");
    app.add_option("--stall-ms", chosen.stall_ms, "A cell without progress for so long has failed");
}

} // namespace

int main(int argc, char** argv)
{
    settings chosen;
    CLI::App app("Checks that no message is lost, damaged or reordered");
    add_options(app, chosen);
    CLI11_PARSE(app, argc, argv);

    const std::vector<cell> cells = cells_of(chosen);
    unsigned passed = 0;
    unsigned failed = 0;
    for (int run = 1; run <= chosen.runs; ++run) {
        for (const cell& one : cells) {
            const cell_result result = run_cell(one, std::chrono::milliseconds(chosen.stall_ms));
            ++(result.passed ? passed : failed);
            std::printf("[%u/%zu] %s %s (%.2f s) %s\n", passed + failed,
                        cells.size() * std::size_t(chosen.runs), result.passed ? "ok  " : "FAIL",
                        one.description().c_str(), result.seconds, result.failure.c_str());
            std::fflush(stdout);
            if (result.unstoppable) {
                std::printf("%u passed, %u failed\n", passed, failed);
                std::fflush(stdout);
                std::_Exit(2);
            }
        }
    }
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
