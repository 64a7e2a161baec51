// SPDX-License-Identifier: Apache-2.0
#include "floor/single.hpp"

#include "bare/channel.hpp"
#include "common/json.hpp"
#include "floor/crowd.hpp"
#include "floor/traffic.hpp"
#include "worker/usage.hpp"
#ifdef ZLINK_HAS_TLS
#include "bare/tls.hpp"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
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

void add_cpu(json_object& line, const cpu_time& cpu, double messages)
{
    line.add("cpu_us_per_message", static_cast<double>(cpu.total_ns) * 1e-3 / messages)
        .add("cpu_user_s", static_cast<double>(cpu.user_ns) * 1e-9)
        .add("cpu_system_s", static_cast<double>(cpu.system_ns) * 1e-9)
        .add("peak_memory_kib", worker::peak_memory_kib());
}

void add_rate(json_object& line, double per_second, std::size_t size_bytes)
{
    line.add("messages_per_s", per_second)
        .add("mb_per_s", per_second * static_cast<double>(size_bytes) * 1e-6);
}

/// A time counts as what `made` has of it.
void add_latency(json_object& line, const dialogue& made)
{
    line.add("latency_mean_us", made.mean_us())
        .add("latency_min_us", made.percentile_us(0))
        .add("latency_p50_us", made.percentile_us(0.5))
        .add("latency_p99_us", made.percentile_us(0.99))
        .add("latency_p99_9_us", made.percentile_us(0.999))
        .add("latency_max_us", made.percentile_us(1));
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
        add_latency(line, made);
        add_cpu(line, made.cpu, 2 * round_trips);
        return;
    }
    add_rate(line, round_trips / made.elapsed_s, what.size_bytes);
    add_cpu(line, made.cpu, round_trips);
}

/// How many messages the worker would send.
std::uint64_t count_of(const single_run& wanted)
{
    if (wanted.count != 0) {
        return wanted.count;
    }
    constexpr double loaded_s = 2;
    const double whole = wanted.what.mode == mode::loaded
                             ? wanted.per_second * loaded_s
                             : static_cast<double>(default_count(wanted.what));
    return static_cast<std::uint64_t>(std::max(1.0, std::round(whole * wanted.scale)));
}

void add_crowd(json_object& line, const single_run& wanted, transport over, std::uint64_t count)
{
    crowd_run run{wanted.what, over, count};
    run.warm_up = wanted.warm_up != 0 ? wanted.warm_up : std::max<std::uint64_t>(1, run.count / 10);
    run.hwm = wanted.hwm;
    run.receivers = wanted.receivers;
    run.per_second = wanted.per_second;
    const worker::crowd_report made = measure_crowd_floor(run);
    const auto messages = static_cast<double>(made.messages);
    const double elapsed_s = static_cast<double>(made.elapsed_ns) * 1e-9;
    for (const dimension each : dimensions_of(wanted.what.pattern)) {
        line.add(name(each), extent(wanted.what, each));
    }
    if (wanted.what.mode == mode::loaded) {
        line.add("offered_per_s", wanted.per_second);
    }
    line.add("receivers", wanted.receivers)
        .add("messages", made.messages)
        .add("elapsed_s", elapsed_s);
    add_rate(line, messages / elapsed_s, wanted.what.size_bytes);
    if (is_timed(wanted.what)) {
        if (made.latencies_ns.size() != made.messages) {
            throw std::runtime_error("not every message has a latency");
        }
        dialogue times;
        for (const std::int64_t each : made.latencies_ns) {
            times.one_way_us.push_back(static_cast<double>(each) * 1e-3);
        }
        std::ranges::sort(times.one_way_us);
        add_latency(line, times);
    }
    add_cpu(line, made.cpu, messages);
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
    const bool many = has_many_connections(what.pattern);
    if (many ? !has_crowd_floor(what, over)
             : what.mechanism != mechanism::null || !bare::can_connect(over)) {
        return line.add("status", "skipped").add("error", "sockets alone do not do this").str();
    }
    const std::uint64_t count = count_of(wanted);
    line.add("status", "ok").add("count", count);
    if (many) {
        add_crowd(line, wanted, over, count);
    } else if (is_round_trip(what)) {
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
