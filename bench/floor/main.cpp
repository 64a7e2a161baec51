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
// worst place of the buffer. A second table tells what libsodium takes to seal and open messages,
// which bounds what CURVE carries.
#include "common/cell.hpp"
#include "common/cpu_time.hpp"
#include "floor/sealing.hpp"

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace zlink::bench {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t piece_bytes = 62 * 1024;
/// A frame of ZMTP has a header of this size before a short body, and this one before a long one.
constexpr std::size_t short_header_bytes = 2;
constexpr std::size_t long_header_bytes = 9;
constexpr std::size_t longest_short_body = 255;

struct settings {
    std::vector<std::size_t> sizes_bytes{64, 256, 1024, 65536, 131072, 262144};
    int runs = 5;
    std::size_t stream_bytes = std::size_t{1} << 30;
    int round_trips = 20'000;
};

settings parse(int argc, char** argv)
{
    settings chosen;
    CLI::App app("What the sockets of this machine carry without a messaging library");
    app.add_option("--size", chosen.sizes_bytes, "Message bodies in bytes, separated by commas")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
    app.add_option("--runs", chosen.runs, "Runs, of which the median counts")
        ->check(CLI::PositiveNumber);
    app.add_option("--stream-bytes", chosen.stream_bytes, "Bytes of each stream")
        ->check(CLI::PositiveNumber);
    app.add_option("--round-trips", chosen.round_trips, "Round trips of each run")
        ->check(CLI::PositiveNumber);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    return chosen;
}

std::size_t framed(std::size_t body_bytes)
{
    return body_bytes + (body_bytes > longest_short_body ? long_header_bytes : short_header_bytes);
}

template <class Result>
Result checked(Result result, const char* what)
{
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), what);
    return result;
}

class descriptor {
public:
    explicit descriptor(int fd) : fd_(checked(fd, "socket")) {}
    ~descriptor()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    int get() const noexcept { return fd_; }

private:
    int fd_;
};

struct connection {
    descriptor source;
    descriptor sink;
};

connection connect_tcp()
{
    const descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(listener.get(), generic, size), "bind");
    checked(::getsockname(listener.get(), generic, &size), "getsockname");
    checked(::listen(listener.get(), 1), "listen");
    descriptor source(::socket(AF_INET, SOCK_STREAM, 0));
    checked(::connect(source.get(), generic, size), "connect");
    descriptor sink(::accept(listener.get(), nullptr, nullptr));
    const int on = 1;
    for (const int fd : {source.get(), sink.get()})
        checked(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
    return {std::move(source), std::move(sink)};
}

connection connect_ipc()
{
    int ends[2];
    checked(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    return {descriptor(ends[0]), descriptor(ends[1])};
}

connection connect(transport over)
{
    return over == transport::tcp ? connect_tcp() : connect_ipc();
}

void write_all(int fd, const char* data, std::size_t bytes)
{
    while (bytes) {
        const ssize_t written = checked(::send(fd, data, bytes, MSG_NOSIGNAL), "send");
        data += written;
        bytes -= static_cast<std::size_t>(written);
    }
}

// Without sleeping: tries until all of it has come.
void read_all(int fd, char* data, std::size_t bytes)
{
    while (bytes) {
        const ssize_t count = ::recv(fd, data, bytes, MSG_DONTWAIT);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (checked(count, "recv") == 0)
            throw std::runtime_error("the connection was closed");
        data += count;
        bytes -= static_cast<std::size_t>(count);
    }
}

/// Both sides at once, each in a thread. If one fails, the other one's connection ends.
template <class Source, class Sink>
void run(const connection& ends, Source source, Sink sink)
{
    std::exception_ptr failed_source;
    std::exception_ptr failed_sink;
    const auto guarded = [&ends](auto& side, int fd, std::exception_ptr& failed) {
        try {
            side(fd);
        } catch (...) {
            failed = std::current_exception();
            ::shutdown(ends.source.get(), SHUT_RDWR);
            ::shutdown(ends.sink.get(), SHUT_RDWR);
        }
    };
    {
        const std::jthread other([&] { guarded(sink, ends.sink.get(), failed_sink); });
        guarded(source, ends.source.get(), failed_source);
    }
    for (const std::exception_ptr& failed : {failed_source, failed_sink})
        if (failed)
            std::rethrow_exception(failed);
}

struct flow {
    double bytes_per_s = 0;
    double cpu_s_per_byte = 0; ///< of both sides
};

flow stream(transport over, std::size_t bytes)
{
    const connection ends = connect(over);
    const cpu_time cpu_before = cpu_time::now();
    const auto begin = clock::now();
    run(
        ends,
        [bytes](int fd) {
            const std::vector<char> piece(piece_bytes, 'x');
            for (std::size_t sent = 0; sent < bytes;) {
                const std::size_t step = std::min(piece.size(), bytes - sent);
                write_all(fd, piece.data(), step);
                sent += step;
            }
        },
        [bytes](int fd) {
            std::vector<char> piece(2 * piece_bytes);
            for (std::size_t received = 0; received < bytes;) {
                const ssize_t count = checked(::recv(fd, piece.data(), piece.size(), 0), "recv");
                if (count == 0)
                    throw std::runtime_error("the connection was closed");
                received += static_cast<std::size_t>(count);
            }
        });
    const double size = static_cast<double>(bytes);
    return {size / std::chrono::duration<double>(clock::now() - begin).count(),
            static_cast<double>((cpu_time::now() - cpu_before).total_ns) / 1e9 / size};
}

struct dialogue {
    double mean_us = 0; ///< one way
    double p50_us = 0;
    double p99_us = 0;
};

dialogue talk(transport over, std::size_t bytes, int round_trips)
{
    std::vector<double> times_us;
    times_us.reserve(static_cast<std::size_t>(round_trips));
    run(
        connect(over),
        [&](int fd) {
            std::vector<char> message(bytes, 'x');
            for (int i = 0; i < round_trips; ++i) {
                const auto begin = clock::now();
                write_all(fd, message.data(), bytes);
                read_all(fd, message.data(), bytes);
                times_us.push_back(
                    std::chrono::duration<double, std::micro>(clock::now() - begin).count() / 2);
            }
        },
        [bytes, round_trips](int fd) {
            std::vector<char> message(bytes);
            for (int i = 0; i < round_trips; ++i) {
                read_all(fd, message.data(), bytes);
                write_all(fd, message.data(), bytes);
            }
        });
    std::ranges::sort(times_us);
    return {std::accumulate(times_us.begin(), times_us.end(), 0.0) / round_trips,
            times_us[times_us.size() / 2], times_us[times_us.size() * 99 / 100]};
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
    for (const transport over : {transport::tcp, transport::ipc}) {
        const flow middle_flow = median(
            chosen.runs, [&] { return stream(over, chosen.stream_bytes); }, &flow::bytes_per_s);
        for (const std::size_t size : chosen.sizes_bytes) {
            // A large message takes the time of many small ones.
            const int round_trips =
                std::max(1, chosen.round_trips / static_cast<int>(1 + size / piece_bytes));
            const dialogue middle = median(
                chosen.runs, [&] { return talk(over, framed(size), round_trips); },
                &dialogue::mean_us);
            const auto bytes = static_cast<double>(framed(size));
            fmt::print("| {} | {} | {:.3g} M | {:.2g} | {:.0f} k | {:.1f} / {:.1f} / {:.1f} |\n",
                       name(over), size, middle_flow.bytes_per_s / bytes / 1e6,
                       middle_flow.cpu_s_per_byte * bytes * 1e6, 1e3 / (2 * middle.mean_us),
                       middle.mean_us, middle.p50_us, middle.p99_us);
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
    try {
        zlink::bench::report(zlink::bench::parse(argc, argv));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "zlink_bench_floor: {}\n", error.what());
        return 1;
    }
}
