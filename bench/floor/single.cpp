// SPDX-License-Identifier: Apache-2.0
#include "floor/single.hpp"

#include "bare/channel.hpp"
#include "common/json.hpp"
#include "floor/traffic.hpp"
#ifdef ZLINK_HAS_TLS
#include "bare/tls.hpp"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace zlink::bench {

namespace {

/// Less would be over before the connection has got going.
constexpr std::uint64_t fewest_stream_bytes = std::uint64_t{256} << 20;

transport carrier_of(transport value)
{
    switch (value) {
    case transport::ws:
        return transport::tcp;
    case transport::wss:
        return transport::tls;
    default:
        return value;
    }
}

std::uint64_t peak_memory_kib()
{
    std::ifstream status("/proc/self/status");
    for (std::string key; status >> key;) {
        std::uint64_t kib = 0;
        if (key == "VmHWM:" && status >> kib) {
            return kib;
        }
    }
    return 0;
}

void add_cpu(json_object& line, const cpu_time& cpu, double messages)
{
    line.add("cpu_us_per_message", static_cast<double>(cpu.total_ns) * 1e-3 / messages)
        .add("cpu_user_s", static_cast<double>(cpu.user_ns) * 1e-9)
        .add("cpu_system_s", static_cast<double>(cpu.system_ns) * 1e-9)
        .add("peak_memory_kib", peak_memory_kib());
}

void add_rate(json_object& line, double per_second, std::size_t size_bytes)
{
    line.add("messages_per_s", per_second)
        .add("mb_per_s", per_second * static_cast<double>(size_bytes) * 1e-6);
}

void add_stream(json_object& line, const cell& what, transport over, std::uint64_t count)
{
    const std::size_t each = framed(what.size_bytes);
    const flow made = stream(over, std::max(count * each, fewest_stream_bytes));
    const double messages = made.bytes_per_s * made.elapsed_s / static_cast<double>(each);
    line.add("elapsed_s", made.elapsed_s);
    add_rate(line, messages / made.elapsed_s, what.size_bytes);
    add_cpu(line, made.cpu, messages);
}

void add_round_trips(json_object& line, const cell& what, transport over, std::uint64_t count)
{
    const dialogue made = talk(over, framed(what.size_bytes), count);
    const auto round_trips = static_cast<double>(count);
    line.add("elapsed_s", made.elapsed_s);
    if (what.mode == mode::latency) {
        line.add("latency_mean_us", made.mean_us())
            .add("latency_min_us", made.percentile_us(0))
            .add("latency_p50_us", made.percentile_us(0.5))
            .add("latency_p99_us", made.percentile_us(0.99))
            .add("latency_p99_9_us", made.percentile_us(0.999))
            .add("latency_max_us", made.percentile_us(1));
        add_cpu(line, made.cpu, 2 * round_trips);
        return;
    }
    add_rate(line, round_trips / made.elapsed_s, what.size_bytes);
    add_cpu(line, made.cpu, round_trips);
}

} // namespace

std::string measure_single(const single_run& wanted)
{
    const cell& what = wanted.what;
    const transport over = carrier_of(what.transport);
    json_object line;
    line.add("pattern", name(what.pattern))
        .add("transport", name(what.transport))
        .add("mode", name(what.mode))
        .add("size_bytes", std::uint64_t{what.size_bytes});
    if (has_many_connections(what.pattern) || what.mechanism != mechanism::null ||
        !bare::can_connect(over)) {
        return line.add("status", "skipped").add("error", "sockets alone do not do this").str();
    }
    const std::uint64_t count =
        wanted.count != 0
            ? wanted.count
            : static_cast<std::uint64_t>(std::max(
                  1.0, std::round(static_cast<double>(default_count(what)) * wanted.scale)));
    line.add("status", "ok").add("count", count);
    if (is_round_trip(what)) {
        add_round_trips(line, what, over, count);
    } else {
        add_stream(line, what, over, count);
    }
    return line.str();
}

std::string identify_floor()
{
#ifdef ZLINK_HAS_TLS
    const std::string version = "OpenSSL " + bare::openssl_version();
#else
    const std::string version = "without TLS";
#endif
    std::error_code error;
    return json_object()
        .add("status", "ok")
        .add("library_version", version)
        .add("library_path", std::filesystem::read_symlink("/proc/self/exe", error).string())
        .str();
}

} // namespace zlink::bench
