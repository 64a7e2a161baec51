// SPDX-License-Identifier: Apache-2.0
// Runs cells of every transport, mechanism, pattern and kind of break, several at once, until the
// time is over, and accounts for each message: nothing may come twice, damaged or out of order, and
// nothing may be lost that no break explains. Between two rounds nothing may be left of the cells.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "soak_cell.hpp"
#include "soak_report.hpp"
#include "soak_stage.hpp"
#include "soak_watch.hpp"
#include "support/sanitizers.hpp"
#include "support/wait.hpp"

namespace {

using namespace zlink::test;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

struct settings {
    double minutes = 30;
    unsigned at_once = 4;
    long stall_ms = 45'000;
    std::uint64_t seed = std::random_device{}();
    soak_wish wish;
};

constexpr auto round_time = 10s;
constexpr std::uint64_t shortest_cell_ms = 200;
constexpr std::uint64_t cell_spread_ms = 900;

volatile std::sig_atomic_t is_interrupted = 0;

void say(const std::string& text)
{
    std::fputs((text + '\n').c_str(), stdout);
    std::fflush(stdout);
}

std::string clock_text(steady::time_point begin)
{
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(steady::now() - begin);
    return fmt::format("[{:>2}:{:02}]", passed.count() / 60, passed.count() % 60);
}

/// Cells in an order of their own in each pass. Thread-safe.
class dispenser {
public:
    dispenser(std::vector<soak_cell> cells, std::uint64_t seed)
        : cells_(std::move(cells)), random_(seed), next_(cells_.size())
    {}

    std::pair<soak_cell, std::uint64_t> next()
    {
        const std::lock_guard lock(mutex_);
        if (next_ == cells_.size()) {
            std::shuffle(cells_.begin(), cells_.end(), random_);
            next_ = 0;
        }
        return {cells_[next_++], random_()};
    }

private:
    std::mutex mutex_;
    std::vector<soak_cell> cells_;
    std::mt19937_64 random_;
    std::size_t next_;
};

struct running_cell {
    soak_stage* stage;
    std::uint64_t steps;
    steady::time_point moved_at;
};

/// The cells that run now, to see which of them does not move. Thread-safe.
class running_cells {
public:
    /// A cell is among them while this lives.
    class place {
    public:
        place(running_cells& all, soak_stage& stage) : all_(all)
        {
            const std::lock_guard lock(all_.mutex_);
            at_ = all_.entries_.insert(all_.entries_.end(), {&stage, 0, steady::now()});
        }
        ~place()
        {
            const std::lock_guard lock(all_.mutex_);
            all_.entries_.erase(at_);
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;

    private:
        running_cells& all_;
        std::list<running_cell>::iterator at_;
    };

    /// @return who has not moved for so long, and where they are; empty if all do
    std::string stuck(std::chrono::milliseconds limit);
    void hurry();

private:
    friend class place;
    std::mutex mutex_;
    std::list<running_cell> entries_;
};

std::string running_cells::stuck(std::chrono::milliseconds limit)
{
    const std::lock_guard lock(mutex_);
    std::string text;
    for (running_cell& each : entries_) {
        const std::uint64_t steps = each.stage->steps();
        if (steps != each.steps) {
            each.steps = steps;
            each.moved_at = steady::now();
        } else if (steady::now() - each.moved_at > limit) {
            text += "hang: " + each.stage->cell().description() + each.stage->whereabouts();
        }
    }
    return text;
}

void running_cells::hurry()
{
    const std::lock_guard lock(mutex_);
    for (running_cell& each : entries_)
        each.stage->hurry();
}

/// What workers and the main thread share.
struct soak {
    dispenser cells;
    running_cells running;
    soak_report report;
    std::atomic<bool> has_leftovers{false}; ///< failed cells leave what they had
};

void run_one(soak& all)
{
    const auto [cell, seed] = all.cells.next();
    std::string failure;
    soak_ledger::totals sum;
    std::uint64_t breaks = 0;
    try {
        soak_stage stage(cell, seed);
        const running_cells::place place(all.running, stage);
        failure = stage.run(std::chrono::milliseconds(shortest_cell_ms + seed % cell_spread_ms));
        sum = stage.ledger().sum();
        breaks = stage.ledger().breaks();
        if (!failure.empty())
            failure += fmt::format("; hwm {}, {} breaks", stage.hwm(), breaks);
    } catch (const std::exception& error) {
        failure = error.what();
    }
    all.report.add(cell, sum, breaks, failure);
    if (!failure.empty()) {
        all.has_leftovers = true;
        say("FAIL " + cell.description() + ": " + failure);
    }
}

/// Cells, several at once, until the time is over; returns when all have ended.
void run_round(soak& all, const settings& chosen, steady::time_point end)
{
    std::atomic<unsigned> working{chosen.at_once};
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < chosen.at_once; ++i)
        workers.emplace_back([&] {
            while (!is_interrupted && steady::now() < end)
                run_one(all);
            --working;
        });
    while (working != 0) {
        std::this_thread::sleep_for(20ms);
        if (is_interrupted)
            all.running.hurry();
        const std::string stuck = all.running.stuck(std::chrono::milliseconds(chosen.stall_ms));
        if (stuck.empty())
            continue;
        all.report.add_failure(stuck);
        say(all.report.tables());
        // Threads that hang cannot be joined.
        std::_Exit(1);
    }
    for (std::thread& worker : workers)
        worker.join();
}

} // namespace

int main(int argc, char** argv)
{
    settings chosen;
    CLI::App app("Accounts for every message of every kind of connection, for a long time");
    app.add_option("--minutes", chosen.minutes, "How long");
    app.add_option("--seed", chosen.seed, "Start of the random numbers");
    app.add_option("--at-once", chosen.at_once, "Cells that run at the same time");
    app.add_option("--stall-ms", chosen.stall_ms, "A cell without progress for so long hangs");
    app.add_option("--transports", chosen.wish.schemes, "Only these");
    app.add_option("--mechanisms", chosen.wish.mechanisms, "Only these: null, plain, curve");
    app.add_option("--patterns", chosen.wish.patterns, "Only these, as push-pull");
    app.add_option("--breaks", chosen.wish.breaks,
                   "Only these: calm, paused, leaving, moving, rebound, replaced, cut");
    CLI11_PARSE(app, argc, argv);

    const std::vector<soak_cell> cells = soak_cells(chosen.wish);
    if (cells.empty()) {
        say("there is no such cell");
        return 1;
    }
    say(fmt::format("{} kinds of cells, {} at once, seed {}", cells.size(), chosen.at_once,
                    chosen.seed));
    const auto stop = [](int) { is_interrupted = 1; };
    std::signal(SIGINT, stop);
    std::signal(SIGTERM, stop);

    soak all{dispenser(cells, chosen.seed), {}, {}};
    const auto begin = steady::now();
    const auto end = begin + std::chrono::duration_cast<steady::duration>(
                                 std::chrono::duration<double, std::ratio<60>>(chosen.minutes));
    const auto warm_at = begin + std::min<steady::duration>((end - begin) / 4, 60s);
    soak_watch watch;
    bool is_warm = false; // not in the first round, however short the run is
    while (!is_interrupted && steady::now() < end) {
        run_round(all, chosen, std::min(steady::now() + round_time, end));
        std::string wrong;
        if (!all.has_leftovers)
            wrong = watch.look(is_warm);
        is_warm = steady::now() > warm_at;
        if (!wrong.empty()) {
            all.report.add_failure(wrong);
            say("FAIL " + wrong);
        }
        say(clock_text(begin) + ' ' + all.report.progress() +
            fmt::format(", {} MiB", watch.last().resident_bytes >> 20));
    }
    say('\n' + all.report.tables());
    say(watch.summary());
    const bool has_failed = all.report.has_failures();
    say(has_failed ? "FAILED" : "ok");
    return has_failed ? 1 : 0;
}
