// SPDX-License-Identifier: Apache-2.0
//
// Measures what the sockets of the machine carry between two threads without any messaging library:
// the limit for one that sends its messages over them. Prints a Markdown table.
//
// Streams are written and read in large pieces, as a library does that gathers small messages. In
// round trips both threads try to read again and again, without sleeping: no library whose threads
// share nothing but the socket can be faster. Behind the table stands what it takes to bring one
// cache line from one processor to another, which bounds all that passes between threads, and what
// the instruction takes by which Linux copies to and from sockets on x86, for the best and the
// worst place of the buffer. The rows of tls are OpenSSL on sockets of tcp, with full records. A
// second table tells what libsodium takes to seal and open messages, which bounds what CURVE
// carries.
//
// With --pattern it makes one measurement, as zlink_bench_worker does: so zlink_bench --floor lets
// it take turns with libraries. Patterns with many connections have as many connections,
// application threads and messages as in the worker, and every message is checked.
#include "bare/channel.hpp"
#include "common/cell.hpp"
#include "floor/sealing.hpp"
#include "floor/single.hpp"
#include "floor/traffic.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink::bench {
namespace {

using clock = std::chrono::steady_clock;

struct settings {
    std::vector<transport> transports{transport::tcp, transport::ipc, transport::tls};
    std::vector<std::size_t> sizes_bytes{64, 256, 1024, 65536, 131072, 262144};
    int runs = 5;
    std::size_t stream_bytes = std::size_t{1} << 30;
    int round_trips = 20'000;

    bool identify = false;
    std::optional<single_run> single; ///< instead of tables
    unsigned timeout_s = 0;           ///< of a single run; 0: none
};

/// The options of the worker; it has others, which are of no concern here.
void add_single_options(CLI::App& app, single_run& wanted, std::map<dimension, int>& extents)
{
    const std::string group = "One measurement, for zlink_bench";
    const auto names = [](const auto& map) { return CLI::CheckedTransformer(map).description(""); };
    app.add_option("--pattern", wanted.what.pattern, "As of zlink_bench_worker, like what follows")
        ->transform(names(pattern_names()))
        ->group(group);
    app.add_option("--mode", wanted.what.mode)->transform(names(mode_names()))->group(group);
    app.add_option("--mechanism", wanted.what.mechanism)
        ->transform(names(mechanism_names()))
        ->group(group);
    app.add_option("--count", wanted.count)->group(group);
    app.add_option("--scale", wanted.scale)->check(CLI::PositiveNumber)->group(group);
    app.add_option("--warm-up", wanted.warm_up)->group(group);
    app.add_option("--hwm", wanted.hwm)->check(CLI::NonNegativeNumber)->group(group);
    app.add_option("--receivers", wanted.receivers)->check(CLI::PositiveNumber)->group(group);
    app.add_option("--rate", wanted.per_second)->check(CLI::PositiveNumber)->group(group);
    for (const auto& [name, value] : dimension_names()) {
        extents[value] = 1;
        app.add_option("--" + name, extents[value])->check(CLI::PositiveNumber)->group(group);
    }
    app.allow_extras();
}

settings parse(int argc, char** argv)
{
    settings chosen;
    CLI::App app("What the sockets of this machine carry without a messaging library");
    single_run wanted;
    std::map<dimension, int> extents;
    app.add_option("--transport", chosen.transports, "tcp, ipc, tls: OpenSSL over tcp (all)")
        ->delimiter(',')
        ->transform(CLI::CheckedTransformer(transport_names()).description(""));
    app.add_option("--size", chosen.sizes_bytes, "Message bodies in bytes, separated by commas")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
    app.add_option("--runs", chosen.runs, "Runs, of which the median counts")
        ->check(CLI::PositiveNumber);
    app.add_option("--stream-bytes", chosen.stream_bytes, "Bytes of each stream")
        ->check(CLI::PositiveNumber);
    app.add_option("--round-trips", chosen.round_trips, "Round trips of each run")
        ->check(CLI::PositiveNumber);
    app.add_flag("--identify", chosen.identify, "Only print what is measured, for zlink_bench");
    add_single_options(app, wanted, extents);
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds after which the program ends");
    try {
        app.parse(argc, argv);
        const bool single = app.count("--pattern") != 0;
        if (!single && !chosen.identify && app.remaining_size() != 0) {
            throw CLI::ExtrasError(app.remaining());
        }
        if (single) {
            wanted.what.transport = chosen.transports.front();
            wanted.what.size_bytes = chosen.sizes_bytes.front();
            for (const dimension each : dimensions_of(wanted.what.pattern)) {
                wanted.what.extents.push_back(extents[each]);
            }
            if (!exists(wanted.what) ||
                (wanted.what.mode == mode::loaded) != (wanted.per_second > 0)) {
                throw CLI::ValidationError("there is no such cell");
            }
            chosen.single = wanted;
        }
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    return chosen;
}

/// The run in the middle, in the order of what `order` takes from a result.
template <class Measure, class Order = std::identity>
auto median(int runs, Measure measure, Order order = {})
{
    std::vector<decltype(measure())> results;
    for (int run = 0; run < runs; ++run)
        results.push_back(measure());
    std::ranges::sort(results, {}, order);
    return results[results.size() / 2];
}

/// Time for a cache line from one thread to another, both of which do nothing but look at it.
double handover_ns()
{
    constexpr int rounds = 50'000;
    constexpr int looks_before_yield = 10'000; // there may be one processor only
    alignas(64) std::atomic<int> line{0};
    const auto await = [&](int value) {
        for (int looks = 0; line.load(std::memory_order_acquire) != value;)
            if (++looks % looks_before_yield == 0)
                std::this_thread::yield();
    };
    std::thread other([&] {
        for (int round = 0; round < rounds; ++round) {
            await(2 * round + 1);
            line.store(2 * round + 2, std::memory_order_release);
        }
    });
    const auto begin = clock::now();
    for (int round = 0; round < rounds; ++round) {
        line.store(2 * round + 1, std::memory_order_release);
        await(2 * round + 2);
    }
    const std::chrono::duration<double, std::nano> time = clock::now() - begin;
    other.join();
    return time.count() / (2 * rounds);
}

#ifdef __x86_64__
void string_move(void* to, const void* from, std::size_t bytes)
{
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

/// Time of a string move within the caches, to an address so many bytes above that of the source
/// modulo 4096. Some processors take those up to 15 for overlapping memory.
double string_move_us(std::size_t above, std::size_t bytes)
{
    constexpr std::size_t page_bytes = 4096;
    constexpr int moves = 200;
    struct alignas(page_bytes) page {
        char bytes[page_bytes];
    };
    const std::vector<page> source(bytes / page_bytes + 1);
    std::vector<page> target(bytes / page_bytes + 2);
    const auto begin = clock::now();
    for (int move = 0; move < moves; ++move)
        string_move(target.front().bytes + above, source.front().bytes, bytes);
    return std::chrono::duration<double, std::micro>(clock::now() - begin).count() / moves;
}
#endif

void report_sealing(const settings& chosen)
{
    bool first = true;
    for (const std::size_t bytes : chosen.sizes_bytes) {
        const auto by_time = [](const auto& each) { return each ? each->seal_ns : 0; };
        const std::optional<sealing_times> times = median(
            chosen.runs, [bytes] { return time_sealing(bytes); }, by_time);
        if (!times) {
            return;
        }
        if (std::exchange(first, false)) {
            fmt::print("\n| libsodium alone | seal us | open us | messages/s, a thread each |\n"
                       "|---:|---:|---:|---:|\n");
        }
        fmt::print("| {} | {:.2f} | {:.2f} | {:.0f} |\n", bytes, times->seal_ns / 1e3,
                   times->open_ns / 1e3, 1e9 / std::max(times->seal_ns, times->open_ns));
    }
}

void report(const settings& chosen)
{
    fmt::print("| transport | bytes | messages/s | CPU per message (us) | round trips/s | one way: "
               "mean / median / 99th percentile (us) |\n|---|---:|---:|---:|---:|---:|\n");
    for (const transport over : chosen.transports) {
        if (!bare::can_connect(over)) {
            continue;
        }
        const flow middle_flow = median(
            chosen.runs, [&] { return stream(over, chosen.stream_bytes); }, &flow::bytes_per_s);
        for (const std::size_t size : chosen.sizes_bytes) {
            // A large message takes the time of many small ones.
            constexpr std::size_t short_bytes = 62 * 1024;
            const int round_trips =
                std::max(1, chosen.round_trips / static_cast<int>(1 + size / short_bytes));
            const dialogue middle = median(
                chosen.runs,
                [&] { return talk(over, framed(size), static_cast<std::uint64_t>(round_trips)); },
                &dialogue::mean_us);
            const auto bytes = static_cast<double>(framed(size));
            const double cpu_s_per_byte = static_cast<double>(middle_flow.cpu.total_ns) * 1e-9 /
                                          (middle_flow.bytes_per_s * middle_flow.elapsed_s);
            fmt::print("| {} | {} | {:.3g} M | {:.2g} | {:.0f} k | {:.1f} / {:.1f} / {:.1f} |\n",
                       name(over), size, middle_flow.bytes_per_s / bytes / 1e6,
                       cpu_s_per_byte * bytes * 1e6, 1e3 / (2 * middle.mean_us()), middle.mean_us(),
                       middle.percentile_us(0.5), middle.percentile_us(0.99));
            std::fflush(stdout);
        }
    }
    report_sealing(chosen);
    fmt::print("\nA cache line from one processor to another: {:.0f} ns\n",
               median(chosen.runs, handover_ns));
#ifdef __x86_64__
    constexpr std::size_t moved_bytes = 64 * 1024;
    const auto move = [&](std::size_t above) {
        return median(chosen.runs, [above] { return string_move_us(above, moved_bytes); });
    };
    fmt::print("A string move of 64 KiB to 64 bytes above the source modulo 4096: {:.1f} us; to 7: "
               "{:.1f} us\n",
               move(64), move(7));
#endif
}

} // namespace
} // namespace zlink::bench

int main(int argc, char** argv)
{
    using namespace zlink::bench;
    const settings chosen = parse(argc, argv);
    std::signal(SIGPIPE, SIG_IGN); // OpenSSL writes to sockets as to files
    ::alarm(chosen.timeout_s);     // a run that hangs ends without a result
    try {
        if (chosen.identify) {
            fmt::print("{}\n", identify_floor());
        } else if (chosen.single) {
            fmt::print("{}\n", measure_single(*chosen.single));
        } else {
            report(chosen);
        }
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "zlink_bench_floor: {}\n", error.what());
        return 1;
    }
}
