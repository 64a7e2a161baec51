// SPDX-License-Identifier: Apache-2.0
// Holds the same conversation again and again, in each of which another call fails, and prints a
// line for each: which call, how many failed, what became of it in one word, and details. Needs the
// injector preloaded. run_faults.py runs it.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <dirent.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include "conversation.hpp"
#include "injector.hpp"

namespace {

using namespace zlink::test;

constexpr long every_call = 1'000'000'000;
constexpr int hang_ms = 25'000;
constexpr long late_ms = conversation::linger_ms + 1500;

struct settings {
    fault_setting what;
    std::string function;
    int error = 0;
    int threads = 0;
    long every = 0; ///< 0: only one call fails
    long most = 1'000'000;
    long after = 0;
    int warm_up = 30;
    int leak_runs = 8;
};

void print_line(const char* format, ...) __attribute__((format(printf, 1, 2)));
void print_line(const char* format, ...)
{
    char line[400];
    va_list rest;
    va_start(rest, format);
    const int size = std::vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    if (::write(STDOUT_FILENO, line,
                static_cast<std::size_t>(std::min<int>(size, sizeof line - 1))) < 0)
        ::_exit(4);
}

/// Ends the process if a conversation does not end. Never freed: it watches to the last.
class hang_watch {
public:
    explicit hang_watch(const conversation& what) : what_(what)
    {
        std::thread([this] { watch(); }).detach();
    }
    void begin(long number)
    {
        number_ = number;
        ++run_;
    }

private:
    void watch()
    {
        using namespace std::chrono_literals;
        long run = run_;
        auto since = std::chrono::steady_clock::now();
        while (true) {
            std::this_thread::sleep_for(50ms);
            if (run != run_) {
                run = run_;
                since = std::chrono::steady_clock::now();
            } else if (std::chrono::steady_clock::now() - since >
                       std::chrono::milliseconds(hang_ms)) {
                fault_disarm();
                print_line("%ld 1 hang in %s\n", number_.load(), what_.step());
                ::_exit(3);
            }
        }
    }

    const conversation& what_;
    std::atomic<long> number_{0};
    std::atomic<long> run_{0};
};

int entries(const char* path)
{
    int count = 0;
    DIR* const directory = ::opendir(path);
    while (::readdir(directory) != nullptr)
        ++count;
    ::closedir(directory);
    return count;
}

/// What a conversation should leave as it was.
struct footprint {
    int descriptors = entries("/proc/self/fd");
    int threads = entries("/proc/self/task");
    long blocks = fault_blocks();
};

/// @return the first of what is wrong, in a word
const char* word_of(const fault_outcome& what)
{
    return what.twice              ? "twice"
           : what.wrong            ? "wrong"
           : what.deaf             ? "deaf"
           : what.unserved         ? "deaf"
           : what.end_ms > late_ms ? "hang"
           : what.lost             ? "lost"
           : what.refused          ? "refused"
           : what.said             ? "said"
                                   : "ok";
}

/// One conversation in which a call fails. Waits until threads that end have ended.
fault_outcome run_one(conversation& talk, const settings& chosen, long first, footprint& before,
                      footprint& after)
{
    fault_plan(chosen.function.c_str(), first, chosen.every ? every_call : 1,
               chosen.every ? chosen.every : 1, chosen.error, chosen.threads);
    before = {};
    const fault_outcome outcome = talk.run();
    for (int tries = 0; tries < 100; ++tries) {
        after = {};
        if (after.threads <= before.threads && after.descriptors <= before.descriptors)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return outcome;
}

/// Whether each conversation with this failure leaves memory. What is kept for the next user comes,
/// goes and grows a little, so the same is done as often without a failure before.
bool leaks_memory(conversation& talk, const settings& chosen, long number, hang_watch& watch)
{
    footprint before;
    footprint after;
    const auto growth_of = [&](long first, int runs) {
        const long begin = fault_blocks();
        for (int run = 0; run < runs; ++run) {
            watch.begin(number);
            run_one(talk, chosen, first, before, after);
        }
        return fault_blocks() - begin;
    };
    // After so many nearly everything that is kept for the next user is there.
    constexpr int filling_runs = 150;
    static bool is_filled = false;
    if (!std::exchange(is_filled, true))
        growth_of(0, filling_runs);
    // A few runs may grow by chance, and what is kept may fill by some 100 blocks; many do not.
    for (const int runs : {chosen.leak_runs, 20 * chosen.leak_runs}) {
        const long without = std::max(0L, growth_of(0, runs));
        if (growth_of(number, runs) < runs - 1 + without)
            return false;
    }
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    settings chosen;
    CLI::App app("Holds conversations in which a call fails each time");
    app.add_option("--transport", chosen.what.transport, "tcp, ipc, inproc, tls, ws or wss")
        ->required();
    app.add_option("--mechanism", chosen.what.mechanism, "null, plain or curve")->required();
    app.add_option("--pattern", chosen.what.pattern, "push-pull, req-rep, dealer-router or pub-sub")
        ->required();
    app.add_option("--function", chosen.function, "What fails; malloc for all that allocate")
        ->required();
    app.add_option("--error", chosen.error, "Its errno; -1: it moves one byte only");
    app.add_option("--threads", chosen.threads, "Calls of 0 all, 1 the program's, 2 the library's");
    app.add_option("--every", chosen.every, "Not one call fails, but each so many-th from one on");
    app.add_option("--most", chosen.most, "So many conversations, with calls evenly far apart");
    app.add_option("--after", chosen.after, "Only calls after this one");
    app.add_option(
        "--warm-up", chosen.warm_up,
        "Conversations without a failure before, in which what is kept for later is made");
    app.add_option("--leak-runs", chosen.leak_runs,
                   "So often a conversation is repeated if it may have left memory; 0: never");
    CLI11_PARSE(app, argc, argv);
    if (fault_plan == nullptr) {
        std::fputs("the injector is not preloaded\n", stderr);
        return 2;
    }
    fault_own_thread();
    conversation talk(chosen.what);
    auto& watch = *new hang_watch(talk);
    footprint before;
    footprint after;
    long calls = 0;
    long most_blocks = 0;
    for (int run = 0; run < chosen.warm_up; ++run) {
        watch.begin(0);
        const fault_outcome outcome = run_one(talk, chosen, 0, before, after);
        calls = fault_calls();
        most_blocks = std::max(most_blocks, after.blocks);
        if (std::string(word_of(outcome)) != "ok") {
            print_line("0 0 %s without a fault\n", word_of(outcome));
            return 1;
        }
    }
    print_line("calls %ld blocks %ld\n", calls, most_blocks);
    const long last = chosen.every ? std::min(calls, chosen.every) : calls;
    const long step = std::max(1L, (last + chosen.most - 1) / std::max(1L, chosen.most));
    for (long number = 1; number <= last; number += step) {
        if (number <= chosen.after)
            continue;
        watch.begin(number);
        const fault_outcome outcome = run_one(talk, chosen, number, before, after);
        const long fired = fault_fired();
        const char* word = word_of(outcome);
        bool leaks = after.descriptors > before.descriptors || after.threads > before.threads;
        const int descriptors = after.descriptors - before.descriptors;
        const int threads = after.threads - before.threads;
        if (after.blocks > most_blocks && chosen.leak_runs != 0 && !leaks) {
            watch.begin(number);
            leaks = leaks_memory(talk, chosen, number, watch);
            after.blocks = fault_blocks();
        }
        most_blocks = std::max(most_blocks, after.blocks);
        if (leaks && (word == std::string("ok") || word == std::string("said") ||
                      word == std::string("lost") || word == std::string("refused")))
            word = "leaked";
        print_line("%ld %ld %s said=%d lost=%d twice=%d wrong=%d deaf=%d unserved=%d refused=%d "
                   "end=%ldms fds=%d threads=%d blocks=%ld\n",
                   number, fired, word, outcome.said, outcome.lost, outcome.twice, outcome.wrong,
                   outcome.deaf, outcome.unserved, outcome.refused, outcome.end_ms, descriptors,
                   threads, after.blocks);
    }
    return 0;
}
