// SPDX-License-Identifier: Apache-2.0
#include "worker/measurement.hpp"

#include "common/json.hpp"
#include "worker/links.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace zlink::bench::worker {

namespace {

constexpr double us_per_ns = 1e-3;

json_object describe(const settings& chosen, std::string_view status)
{
    json_object line;
    line.add("status", status)
        .add("pattern", name(chosen.what.pattern))
        .add("transport", name(chosen.what.transport))
        .add("mode", name(chosen.what.mode))
        .add("size_bytes", std::uint64_t{chosen.what.size_bytes});
    for (const dimension each : dimensions_of(chosen.what.pattern)) {
        line.add(name(each), extent(chosen.what, each));
    }
    if (chosen.what.mode == mode::loaded) {
        line.add("offered_per_s", chosen.per_second);
    }
    line.add("count", chosen.count)
        .add("warm_up", chosen.warm_up)
        .add("hwm", chosen.hwm)
        .add("io_threads", chosen.what.io_threads)
        .add("contexts", chosen.contexts)
        .add("processes", chosen.two_processes ? 2 : 1)
        .add("api", name(chosen.what.api))
        .add("mechanism", name(chosen.what.mechanism))
        .add("library_version", library_version())
        .add("library_path", library_path());
    return line;
}

/// The value below or at which a share of the sorted values lies (nearest rank).
double percentile(const std::vector<std::int64_t>& sorted, double share)
{
    const double rank = std::ceil(share * static_cast<double>(sorted.size()));
    return static_cast<double>(sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1]);
}

/// `us_per_unit` says what one of these times counts as.
void add_latency(json_object& line, std::vector<std::int64_t>& times_ns, double us_per_unit)
{
    std::sort(times_ns.begin(), times_ns.end());
    const double sum_ns = std::accumulate(times_ns.begin(), times_ns.end(), 0.0);
    line.add("latency_mean_us", sum_ns / static_cast<double>(times_ns.size()) * us_per_unit)
        .add("latency_min_us", percentile(times_ns, 0.0) * us_per_unit)
        .add("latency_p50_us", percentile(times_ns, 0.5) * us_per_unit)
        .add("latency_p99_us", percentile(times_ns, 0.99) * us_per_unit)
        .add("latency_p99_9_us", percentile(times_ns, 0.999) * us_per_unit)
        .add("latency_max_us", percentile(times_ns, 1.0) * us_per_unit);
}

void add_throughput(json_object& line, const settings& chosen, std::uint64_t count,
                    double elapsed_s)
{
    const double per_second = static_cast<double>(count) / elapsed_s;
    line.add("messages_per_s", per_second)
        .add("mb_per_s", per_second * static_cast<double>(chosen.what.size_bytes) * 1e-6);
}

void add_usage(json_object& line, const cpu_time& cpu, double messages, std::uint64_t peak_kib)
{
    line.add("cpu_us_per_message", static_cast<double>(cpu.total_ns) * us_per_ns / messages)
        .add("cpu_user_s", static_cast<double>(cpu.user_ns) * 1e-9)
        .add("cpu_system_s", static_cast<double>(cpu.system_ns) * 1e-9)
        .add("peak_memory_kib", peak_kib);
}

} // namespace

side_report run_side(const settings& chosen, side mine, const context& owner,
                     control_channel& control)
{
    links connected(chosen, mine, owner, control);
    if (!chosen.cpus.empty()) {
        // Only now, because the library's own threads inherit what their creator is bound to.
        pin_this_thread(chosen.cpus[mine == side::source ? 0 : 1]);
    }
    side_report report = run_exchange(chosen, mine, connected.port(), control);
    if (mine != measuring_side(chosen.what)) {
        peer_report{report.cpu, peak_memory_kib()}.send(control);
    }
    return report;
}

peer_report peer_report::receive(control_channel& control)
{
    const std::string text = control.receive();
    long long total_ns = 0;
    long long user_ns = 0;
    long long system_ns = 0;
    unsigned long long kib = 0;
    if (std::sscanf(text.c_str(), "report %lld %lld %lld %llu", &total_ns, &user_ns, &system_ns,
                    &kib) != 4) {
        throw failure("expected a report from the other side, not '" + text + "'");
    }
    return {{total_ns, user_ns, system_ns}, kib};
}

void peer_report::send(control_channel& control) const
{
    std::string text = "report";
    for (const std::int64_t value : {cpu.total_ns, cpu.user_ns, cpu.system_ns}) {
        text += ' ' + std::to_string(value);
    }
    control.send(text + ' ' + std::to_string(peak_memory_kib));
}

std::string result_line(const settings& chosen, side_report report, const peer_report& peer)
{
    json_object line = describe(chosen, "ok");
    const double elapsed_s = static_cast<double>(report.elapsed_ns) * 1e-9;
    const cpu_time cpu = chosen.two_processes ? report.cpu + peer.cpu : report.cpu;
    std::uint64_t peak_kib = peak_memory_kib();
    if (chosen.two_processes) {
        peak_kib += peer.peak_memory_kib;
    }
    auto messages = static_cast<double>(chosen.count);
    line.add("elapsed_s", elapsed_s);
    if (chosen.what.mode == mode::latency) {
        // A round trip is two messages.
        messages *= 2;
        add_latency(line, report.round_trips_ns, 0.5 * us_per_ns);
    } else {
        add_throughput(line, chosen, chosen.count, elapsed_s);
    }
    add_usage(line, cpu, messages, peak_kib);
    return line.str();
}

std::string result_line(const settings& chosen, crowd_report report)
{
    json_object line = describe(chosen, "ok");
    const double elapsed_s = static_cast<double>(report.elapsed_ns) * 1e-9;
    const auto messages = static_cast<double>(report.messages);
    line.add("receivers", chosen.receivers)
        .add("messages", report.messages)
        .add("elapsed_s", elapsed_s);
    add_throughput(line, chosen, report.messages, elapsed_s);
    if (is_timed(chosen.what)) {
        if (report.latencies_ns.size() != report.messages) {
            throw failure("not every message has a latency");
        }
        add_latency(line, report.latencies_ns, us_per_ns);
    }
    if (chosen.what.pattern == pattern::connections) {
        line.add("memory_per_connection_kib", static_cast<double>(report.grown_kib) / messages)
            .add("memory_per_idle_connection_kib",
                 static_cast<double>(report.grown_idle_kib) / messages);
    }
    add_usage(line, report.cpu, messages, report.peak_memory_kib);
    return line.str();
}

std::string error_line(const settings& chosen, std::string_view status, std::string_view reason)
{
    return describe(chosen, status).add("error", reason).str();
}

std::string identity_line()
{
    return json_object()
        .add("status", "ok")
        .add("library_version", library_version())
        .add("library_path", library_path())
        .str();
}

} // namespace zlink::bench::worker
