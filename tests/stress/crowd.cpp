// SPDX-License-Identifier: Apache-2.0
// Sends numbered messages among many peers, some of which come and go in an orderly way, and
// demands all of them, once, whole and in order. Uses nothing but the C API: to see what the
// genuine library does in a cell, have it loaded (LD_LIBRARY_PATH).
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "crowd_cell.hpp"

namespace {

using namespace zlink::test;

const std::vector<scene> all_scenes{
    scene::router_dealer,     scene::server_client,     scene::push_pull,
    scene::pub_sub,           scene::dealer_rep,        scene::dealer_router,
    scene::many_push,         scene::many_dealer,       scene::broker_dealer_dealer,
    scene::broker_dealer_rep, scene::broker_req_dealer, scene::broker_req_rep};
const std::vector<transport> all_transports{transport::tcp, transport::ipc, transport::inproc};
const std::vector<bodies> all_bodies{bodies::small, bodies::middle, bodies::mixed,
                                     bodies::multipart};
const std::vector<readers> all_readers{readers::shared, readers::own};

template <typename Value>
std::map<std::string, Value> names_of(const std::vector<Value>& values)
{
    std::map<std::string, Value> names;
    for (const Value value : values)
        names[name_of(value)] = value;
    return names;
}

struct settings {
    std::vector<scene> scenes = all_scenes;
    std::vector<transport> transports = all_transports;
    std::vector<bodies> sizes = all_bodies;
    std::vector<int> hwms{1, 10, 1000, 0};
    std::vector<int> peers{2, 10, 40};
    std::vector<std::string> lives{"lasting", "changing"};
    std::vector<readers> threads = all_readers;
    std::uint64_t count = 10'000;
    std::size_t sample = 0;
    unsigned seed = 1;
    int runs = 1;
    long stall_ms = 20'000;
    bool failures_only = false;
};

/// What is larger takes longer.
std::uint64_t count_of(std::uint64_t count, bodies body)
{
    const std::uint64_t part = body == bodies::mixed ? 3 : body == bodies::multipart ? 6 : 1;
    return std::max<std::uint64_t>(20, count / part);
}

std::vector<crowd_cell> cells_of(const settings& chosen)
{
    std::vector<crowd_cell> cells;
    for (const scene what : chosen.scenes)
        for (const transport kind : chosen.transports)
            for (const bodies body : chosen.sizes)
                for (const int hwm : chosen.hwms)
                    for (const int peers : chosen.peers)
                        for (const std::string& lives : chosen.lives)
                            for (const readers threads : chosen.threads) {
                                // These messages have one part.
                                if (what == scene::server_client && body == bodies::multipart)
                                    continue;
                                cells.push_back({what, kind, body, hwm, peers, lives == "changing",
                                                 threads, count_of(chosen.count, body)});
                            }
    return cells;
}

void add_options(CLI::App& app, settings& chosen)
{
    app.add_option("--scenes", chosen.scenes, "Who talks to whom")
        ->transform(CLI::CheckedTransformer(names_of(all_scenes)));
    app.add_option("--transports", chosen.transports, "Transports to run")
        ->transform(CLI::CheckedTransformer(names_of(all_transports)));
    app.add_option("--sizes", chosen.sizes, "Message sizes; multipart: up to four mixed parts")
        ->transform(CLI::CheckedTransformer(names_of(all_bodies)));
    app.add_option("--hwm", chosen.hwms, "High-water marks, set on both sides and directions");
    app.add_option("--peers", chosen.peers, "Sockets on the side of the many (a broker's clients)")
        ->check(CLI::Range(1, 500));
    app.add_option("--lives", chosen.lives, "lasting peers, changing ones, or both")
        ->check(CLI::IsMember({"lasting", "changing"}));
    app.add_option("--threads", chosen.threads, "Peers share two threads, or each has its own")
        ->transform(CLI::CheckedTransformer(names_of(all_readers)));
    app.add_option("--count", chosen.count, "Messages of 64 bytes per cell; fewer of large ones");
    app.add_option("--sample", chosen.sample, "Only so many of the cells, chosen by --seed");
    app.add_option("--seed", chosen.seed, "Which cells; the next run takes the next seed");
    app.add_option("--runs", chosen.runs, "Repetitions of the whole matrix");
    app.add_option("--stall-ms", chosen.stall_ms, "A cell without progress for so long has failed");
    app.add_flag("--failures-only", chosen.failures_only, "Do not list cells that pass");
}

/// Passed and failed cells.
struct tally {
    unsigned passed = 0;
    unsigned failed = 0;
    unsigned skipped = 0;

    void print() const
    {
        std::printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
        std::fflush(stdout);
    }
};

void run(const crowd_cell& one, const settings& chosen, tally& cells)
{
    const crowd_result result = run_crowd(one, std::chrono::milliseconds(chosen.stall_ms));
    ++(result.skipped ? cells.skipped : result.passed ? cells.passed : cells.failed);
    if (!result.passed || !chosen.failures_only) {
        std::printf("[%u] %s %s (%.2f s) %s\n", cells.passed + cells.failed + cells.skipped,
                    result.skipped  ? "skip"
                    : result.passed ? "ok  "
                                    : "FAIL",
                    one.description().c_str(), result.seconds, result.failure.c_str());
        std::fflush(stdout);
    }
    if (result.unstoppable) {
        cells.print();
        std::_Exit(2);
    }
}

} // namespace

int main(int argc, char** argv)
{
    settings chosen;
    CLI::App app("Checks that nothing is lost, damaged, reordered or stuck among many peers");
    add_options(app, chosen);
    CLI11_PARSE(app, argc, argv);

    tally cells;
    for (int turn = 0; turn < chosen.runs; ++turn) {
        std::vector<crowd_cell> all = cells_of(chosen);
        if (chosen.sample != 0 && chosen.sample < all.size()) {
            std::shuffle(all.begin(), all.end(), std::mt19937(chosen.seed + unsigned(turn)));
            all.resize(chosen.sample);
        }
        for (const crowd_cell& one : all)
            run(one, chosen, cells);
    }
    cells.print();
    return cells.failed == 0 ? 0 : 1;
}
