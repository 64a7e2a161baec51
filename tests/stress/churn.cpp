// SPDX-License-Identifier: Apache-2.0
// Several threads open, bind, connect, use, disconnect, unbind and close sockets at random while
// contexts come and go under them. Nothing may hang, no body may arrive in pieces, and no file
// descriptor and no memory may be left at the end.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include "churn_body.hpp"
#include "churn_worker.hpp"

namespace {

using namespace zlink::test;

struct settings {
    int seconds = 30;
    int threads = 4;
    long generation_ms = 700;
    long hang_ms = 30'000;
    churn_habits habits;
    std::vector<transport> transports{transport::tcp, transport::ipc, transport::inproc};
    unsigned seed = std::random_device{}();
};

std::size_t open_descriptors()
{
    const std::filesystem::directory_iterator begin("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator{}));
}

using workers = std::vector<std::unique_ptr<churn_worker>>;

/// Ends the process when some thread has not moved for too long, saying what each was doing.
class hang_watch {
public:
    hang_watch(const workers& all, std::chrono::milliseconds limit) : all_(all), limit_(limit) {}

    /// To be called now and then by the main thread.
    void check()
    {
        std::uint64_t steps = 0;
        bool idle = false;
        for (const auto& worker : all_) {
            steps += worker->steps();
            idle = idle || worker->idle_for() > limit_;
        }
        if (!idle)
            return;
        std::printf("a thread hangs; %llu steps so far\n", static_cast<unsigned long long>(steps));
        for (const auto& worker : all_)
            std::printf("  %s for %lld ms\n", worker->action(),
                        static_cast<long long>(worker->idle_for().count()));
        std::fflush(stdout);
        std::_Exit(2);
    }

private:
    const workers& all_;
    std::chrono::milliseconds limit_;
};

/// One life of a shared context: work in it, shut it down under the threads, terminate it.
void run_generation(workers& all, hang_watch& watch, std::chrono::milliseconds length)
{
    test_context context;
    std::vector<std::thread> threads;
    std::atomic<std::size_t> running{all.size()};
    for (const auto& worker : all)
        threads.emplace_back([&context, &worker, &running] {
            worker->work_until_terminated(context);
            --running;
        });
    wait_until(
        [&] {
            watch.check();
            return false;
        },
        length);
    zmq_ctx_shutdown(context);
    wait_until(
        [&] {
            watch.check();
            return running == 0;
        },
        std::chrono::hours(1));
    for (std::thread& thread : threads)
        thread.join();
    for (const auto& worker : all)
        worker->mark("waiting for the end of the context");
    std::atomic<bool> ended = false;
    std::thread ending([&context, &ended] {
        context.term();
        ended = true;
    });
    wait_until(
        [&] {
            watch.check();
            return ended.load();
        },
        std::chrono::hours(1));
    ending.join();
}

} // namespace

int main(int argc, char** argv)
{
    settings chosen;
    CLI::App app("Opens and closes everything at random and looks for hangs and leaks");
    app.add_option("--seconds", chosen.seconds, "How long");
    app.add_option("--threads", chosen.threads, "Threads with sockets of their own");
    app.add_option("--generation-ms", chosen.generation_ms, "Life of a context");
    app.add_option("--hang-ms", chosen.hang_ms, "A call that takes longer hangs");
    app.add_option("--hwm-below", chosen.habits.hwm_below, "Random SNDHWM below this, 0: default");
    app.add_flag("--whole-messages", chosen.habits.whole_messages, "Read no message in part");
    const std::map<std::string, transport> names{
        {"tcp", transport::tcp}, {"ipc", transport::ipc}, {"inproc", transport::inproc}};
    app.add_option("--transports", chosen.transports, "Transports to use")
        ->transform(CLI::CheckedTransformer(names));
    app.add_option("--seed", chosen.seed, "Start of the random numbers");
    CLI11_PARSE(app, argc, argv);
    std::printf("seed %u\n", chosen.seed);
    std::fflush(stdout);

    const address_book addresses(chosen.transports, 2);
    workers all;
    for (int index = 0; index < chosen.threads; ++index)
        all.push_back(std::make_unique<churn_worker>(addresses, chosen.habits,
                                                     chosen.seed + unsigned(index)));
    hang_watch watch(all, std::chrono::milliseconds(chosen.hang_ms));

    const std::size_t before = open_descriptors();
    const stopwatch clock;
    unsigned generations = 0;
    while (clock.elapsed_ms() < chosen.seconds * 1000L) {
        for (const auto& worker : all)
            worker->mark("between contexts");
        run_generation(all, watch, std::chrono::milliseconds(chosen.generation_ms));
        ++generations;
    }
    const bool clean = wait_until([before] { return open_descriptors() <= before; }) &&
                       wait_until([] { return churn_body::outstanding() == 0; });

    std::uint64_t steps = 0;
    std::uint64_t messages = 0;
    bool sound = true;
    for (const auto& worker : all) {
        steps += worker->steps();
        messages += worker->messages();
        if (!worker->complaint().empty()) {
            std::printf("unexpected: %s\n", worker->complaint().c_str());
            sound = false;
        }
    }
    std::printf("%u contexts, %llu steps, %llu messages; descriptors: %zu before, %zu after; "
                "%ld bodies not given back\n",
                generations, static_cast<unsigned long long>(steps),
                static_cast<unsigned long long>(messages), before, open_descriptors(),
                churn_body::outstanding());
    std::printf("%s\n", clean && sound ? "passed" : "FAILED");
    return clean && sound ? 0 : 1;
}
