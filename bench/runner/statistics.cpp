// SPDX-License-Identifier: Apache-2.0
#include "runner/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace zlink::bench::runner {

namespace {

/// Where many are under way, latency says little without the rate.
std::vector<figure> with_rates(std::vector<figure> figures)
{
    figures.push_back({"messages_per_s", "messages", "/s"});
    return figures;
}

/// A library's value of each successful run.
std::map<int, double> by_number(const cell_record& record, std::size_t library,
                                const std::string& field)
{
    std::map<int, double> values;
    for (const run_record& run : record.runs) {
        const auto value = run.fields.number(field);
        if (run.library == library && run.ok() && value) {
            values[run.number] = *value;
        }
    }
    return values;
}

std::optional<spread> ratios_by_number(const std::map<int, double>& above,
                                       const std::map<int, double>& below)
{
    std::vector<double> ratios;
    for (const auto& [number, value] : above) {
        const auto pair = below.find(number);
        if (pair != below.end() && pair->second > 0) {
            ratios.push_back(value / pair->second);
        }
    }
    return spread_of(std::move(ratios));
}

} // namespace

const std::vector<figure>& figures_of(const cell& what)
{
    static const figure cpu{"cpu_us_per_message", "CPU per message", "us"};
    static const figure memory{"peak_memory_kib", "peak memory", "KiB"};
    static const std::vector<figure> streams{
        {"messages_per_s", "messages", "/s"}, {"mb_per_s", "data", "MB/s"}, cpu, memory};
    static const std::vector<figure> round_trips{{"latency_mean_us", "latency mean", "us"},
                                                 {"latency_p50_us", "latency p50", "us"},
                                                 {"latency_p99_us", "latency p99", "us"},
                                                 {"latency_p99_9_us", "latency p99.9", "us"},
                                                 cpu,
                                                 memory};
    static const std::vector<figure> connecting{
        {"messages_per_s", "connections", "/s"},
        {"memory_per_connection_kib", "memory per connection, both ends", "KiB"},
        {"memory_per_idle_connection_kib", "without what is free again", "KiB"},
        {"cpu_us_per_message", "CPU per connection", "us"},
        memory};
    static const std::vector<figure> loaded = with_rates(round_trips);
    if (what.mode == mode::throughput) {
        return what.pattern == pattern::connections ? connecting : streams;
    }
    return has_many_connections(what.pattern) ? loaded : round_trips;
}

std::optional<spread> spread_of(std::vector<double> values)
{
    if (values.empty()) {
        return std::nullopt;
    }
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    const double median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return spread{median, values.front(), values.back()};
}

std::optional<spread> values_of(const cell_record& record, std::size_t library,
                                const std::string& field)
{
    std::vector<double> values;
    for (const run_record& run : record.runs) {
        const auto value = run.fields.number(field);
        if (run.library == library && run.ok() && value) {
            values.push_back(*value);
        }
    }
    return spread_of(std::move(values));
}

std::optional<spread> ratios_of(const cell_record& record, std::size_t baseline,
                                const std::string& field)
{
    std::map<int, double> subject;
    std::vector<double> ratios;
    for (const run_record& run : record.runs) {
        const auto value = run.fields.number(field);
        if (!run.ok() || !value) {
            continue;
        }
        // In each pair the subject runs first.
        if (run.library == 0) {
            subject[run.number] = *value;
        } else if (run.library == baseline && *value > 0 && subject.count(run.number) == 1) {
            ratios.push_back(subject[run.number] / *value);
        }
    }
    return spread_of(std::move(ratios));
}

std::optional<spread> ratios_of_cells(const cell_record& subject, const cell_record& reference,
                                      std::size_t library, const std::string& field)
{
    return ratios_by_number(by_number(subject, library, field),
                            by_number(reference, library, field));
}

std::optional<std::size_t> floor_of(const settings& chosen)
{
    const auto found = std::find_if(chosen.libraries.begin(), chosen.libraries.end(),
                                    [](const library& each) { return each.is_floor(); });
    return found == chosen.libraries.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - chosen.libraries.begin()));
}

std::optional<spread> shares_of_floor(const settings& chosen, const cell_record& record,
                                      std::size_t library)
{
    const auto floor = floor_of(chosen);
    if (!floor || library == *floor) {
        return std::nullopt;
    }
    const figure& first = figures_of(record.what).front();
    const auto own = by_number(record, library, first.field);
    const auto floors = by_number(record, *floor, first.field);
    return first.unit == "/s" ? ratios_by_number(own, floors) : ratios_by_number(floors, own);
}

const cell_record* reference_of(const settings& chosen, const cell_record& subject,
                                const std::vector<cell_record>& records)
{
    const auto found = std::find_if(records.begin(), records.end(), [&](const cell_record& each) {
        return !chosen.compared.empty() && each.what.transport == chosen.compared.front() &&
               same_but_for_transport(each.what, subject.what);
    });
    return found == records.end() ? nullptr : &*found;
}

std::size_t failures_of(const cell_record& record, std::size_t library)
{
    return static_cast<std::size_t>(
        std::count_if(record.runs.begin(), record.runs.end(), [library](const run_record& run) {
            return run.library == library && run.failed();
        }));
}

bool is_skipped(const cell_record& record, std::size_t library)
{
    return std::any_of(record.runs.begin(), record.runs.end(), [library](const run_record& run) {
        return run.library == library && run.skipped;
    });
}

std::string short_number(double value, const std::string& unit)
{
    if (unit != "/s") {
        return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
    }
    if (value >= 1e6) {
        return fmt::format("{:.2f} M", value * 1e-6);
    }
    return value >= 1e3 ? fmt::format("{:.1f} k", value * 1e-3) : fmt::format("{:.0f}", value);
}

std::string headline(const cell_record& record, std::size_t library, int runs)
{
    const std::size_t failures = failures_of(record, library);
    if (failures > 0) {
        return fmt::format("FAILED {}/{}", failures, runs);
    }
    if (is_skipped(record, library)) {
        return "n/a";
    }
    const figure& first = figures_of(record.what).front();
    const auto values = values_of(record, library, first.field);
    return values ? fmt::format("{}{}{}", short_number(values->median, first.unit),
                                first.unit == "/s" ? "" : " ", first.unit)
                  : "no result";
}

std::optional<double> geometric_mean(const std::vector<double>& values)
{
    if (values.empty()) {
        return std::nullopt;
    }
    const double sum =
        std::accumulate(values.begin(), values.end(), 0.0,
                        [](double total, double value) { return total + std::log(value); });
    return std::exp(sum / static_cast<double>(values.size()));
}

} // namespace zlink::bench::runner
