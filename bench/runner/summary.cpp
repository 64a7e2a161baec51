// SPDX-License-Identifier: Apache-2.0
#include "runner/summary.hpp"

#include "runner/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace zlink::bench::runner {

namespace {

const std::string absent = "-";

std::string with_spread(const std::optional<spread>& values, const std::string& unit)
{
    return values ? fmt::format("{} [{} .. {}]", short_number(values->median, unit),
                                short_number(values->min, unit), short_number(values->max, unit))
                  : absent;
}

std::string ratio_text(const std::optional<spread>& ratio)
{
    return ratio ? fmt::format("{:.2f}x [{:.2f} .. {:.2f}]", ratio->median, ratio->min, ratio->max)
                 : absent;
}

std::string short_ratio_text(const std::optional<spread>& ratio)
{
    return ratio ? fmt::format("{:.2f}x", ratio->median) : absent;
}

std::string share_text(const std::optional<spread>& share)
{
    return share ? fmt::format("{:.0f}% [{:.0f} .. {:.0f}]", 100 * share->median, 100 * share->min,
                               100 * share->max)
                 : absent;
}

std::vector<std::string> row_start(const cell& what)
{
    return {label(what), std::string(name(what.transport)), std::to_string(what.size_bytes)};
}

/// Says so if a library did not carry the rate at which messages were sent: its latency then tells
/// how long the run was.
std::string shortfall_text(const cell_record& record, std::size_t library)
{
    constexpr double kept = 0.95; // the last messages take their time too
    const auto offered = values_of(record, library, "offered_per_s");
    const auto carried = values_of(record, library, "messages_per_s");
    if (!offered || !carried || carried->median >= kept * offered->median) {
        return {};
    }
    return fmt::format(" ({:.0f}% of the rate)", 100 * carried->median / offered->median);
}

/// What the overview says about a library: the rate with its spread, or the latencies.
std::string library_text(const cell_record& record, std::size_t library, int runs)
{
    if (const std::size_t failed = failures_of(record, library)) {
        return fmt::format("FAILED {} of {}", failed, runs);
    }
    if (is_skipped(record, library)) {
        return "n/a";
    }
    if (record.what.mode == mode::throughput) {
        const auto memory = values_of(record, library, "memory_per_idle_connection_kib");
        return with_spread(values_of(record, library, "messages_per_s"), "/s") +
               (memory ? fmt::format(", {:.1f} KiB", memory->median) : "");
    }
    std::vector<std::string> parts;
    for (const char* const field : {"latency_mean_us", "latency_p50_us", "latency_p99_us"}) {
        const auto values = values_of(record, library, field);
        parts.push_back(values ? fmt::format("{:.1f}", values->median) : absent);
    }
    return fmt::format("{}{}", fmt::join(parts, " / "), shortfall_text(record, library));
}

/// Figures whose ratio the overview shows with its spread.
std::vector<figure> compared_figures(mode shown)
{
    if (shown == mode::throughput) {
        return {{"messages_per_s", "rate", ""}};
    }
    return {{"latency_mean_us", "mean", ""},
            {"latency_p50_us", "p50", ""},
            {"latency_p99_us", "p99", ""}};
}

std::string overview_title(mode shown, bool many)
{
    switch (shown) {
    case mode::throughput:
        return many ? "Throughput, many connections (per second: messages; to_many_pub, forwarder: "
                      "deliveries; broker: requests; connections: connections, and memory of an "
                      "idle one)"
                    : "Throughput (messages per second; req_rep: round trips per second)";
    case mode::latency:
        return many ? "Round-trip latency, many connections (mean / median / 99th percentile in us)"
                    : "One-way latency (mean / median / 99th percentile in us)";
    case mode::loaded:
        break;
    }
    return "Latency under load (broker: round trip; others: one way; mean / median / 99th "
           "percentile in us)";
}

/// Of connections it is their own memory that is of interest.
std::string memory_field(const cell& what)
{
    return what.pattern == pattern::connections ? "memory_per_connection_kib" : "peak_memory_kib";
}

/// Sockets alone are what each library has a share of where there are many connections, and one
/// more library where there is one. They come last.
bool has_shares(const settings& chosen, std::size_t baseline, bool many)
{
    return many && chosen.libraries[baseline].is_floor();
}

table empty_overview(const settings& chosen, mode shown, bool many)
{
    table result;
    result.title = overview_title(shown, many);
    result.left_columns = 2;
    result.headers = {"pattern", "transport", "bytes"};
    for (const library& each : chosen.libraries) {
        result.headers.push_back(each.name);
    }
    for (std::size_t baseline = 1; baseline < chosen.libraries.size(); ++baseline) {
        if (has_shares(chosen, baseline, many)) {
            for (std::size_t index = 0; index < baseline; ++index) {
                result.headers.push_back(chosen.libraries[index].name + ": share of the floor");
            }
            continue;
        }
        // Names the baseline only where there is more than one.
        const std::string versus =
            chosen.libraries.size() == 2 ? "" : " vs " + chosen.libraries[baseline].name;
        for (const figure& each : compared_figures(shown)) {
            result.headers.push_back(each.title + " ratio" + versus);
        }
        result.headers.push_back("CPU ratio" + versus);
        result.headers.push_back("memory ratio" + versus);
    }
    return result;
}

std::vector<std::string> overview_row(const settings& chosen, const cell_record& record)
{
    std::vector<std::string> row = row_start(record.what);
    for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
        row.push_back(library_text(record, index, chosen.runs));
    }
    for (std::size_t baseline = 1; baseline < chosen.libraries.size(); ++baseline) {
        if (has_shares(chosen, baseline, has_many_connections(record.what.pattern))) {
            for (std::size_t index = 0; index < baseline; ++index) {
                row.push_back(share_text(shares_of_floor(chosen, record, index)));
            }
            continue;
        }
        for (const figure& each : compared_figures(record.what.mode)) {
            row.push_back(ratio_text(ratios_of(record, baseline, each.field)));
        }
        row.push_back(short_ratio_text(ratios_of(record, baseline, "cpu_us_per_message")));
        row.push_back(short_ratio_text(ratios_of(record, baseline, memory_field(record.what))));
    }
    return row;
}

table empty_comparison(const settings& chosen, mode shown, bool many)
{
    table result;
    const std::string_view first = name(chosen.compared.front());
    result.title =
        fmt::format("Transports beside {}, taking turns: {}", first, overview_title(shown, many));
    result.left_columns = 2;
    result.headers = {"pattern", "transport", "bytes"};
    for (const library& each : chosen.libraries) {
        result.headers.push_back(each.name);
        for (const figure& compared : compared_figures(shown)) {
            result.headers.push_back(fmt::format("{} / {}", compared.title, first));
        }
        result.headers.push_back(fmt::format("CPU / {}", first));
        result.headers.push_back(fmt::format("memory / {}", first));
    }
    return result;
}

std::vector<std::string> comparison_row(const settings& chosen, const cell_record& record,
                                        const cell_record* reference)
{
    std::vector<std::string> row = row_start(record.what);
    for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
        const auto ratio = [&](const std::string& field) {
            return reference == nullptr || reference == &record
                       ? std::nullopt
                       : ratios_of_cells(record, *reference, index, field);
        };
        row.push_back(library_text(record, index, chosen.runs));
        for (const figure& each : compared_figures(record.what.mode)) {
            row.push_back(ratio_text(ratio(each.field)));
        }
        row.push_back(short_ratio_text(ratio("cpu_us_per_message")));
        row.push_back(short_ratio_text(ratio(memory_field(record.what))));
    }
    return row;
}

/// One table per mode, patterns with one connection and with many apart, one row per cell.
template <class Empty, class Row>
std::vector<table> tables_of(const std::vector<cell_record>& records, Empty empty, Row row)
{
    std::vector<table> tables;
    for (const bool many : {false, true}) {
        for (const mode shown : {mode::throughput, mode::latency, mode::loaded}) {
            table added = empty(shown, many);
            for (const cell_record& record : records) {
                if (record.what.mode == shown &&
                    has_many_connections(record.what.pattern) == many) {
                    added.rows.push_back(row(record));
                }
            }
            if (!added.rows.empty()) {
                tables.push_back(std::move(added));
            }
        }
    }
    return tables;
}

/// Figures of which the conclusions have geometric means.
const std::vector<std::pair<std::string, std::string>>& concluding_figures()
{
    static const std::vector<std::pair<std::string, std::string>> fields{
        {"messages_per_s", "Messages per second"},
        {"latency_p50_us", "Median latency"},
        {"latency_p99_us", "99th percentile of latency"},
        {"cpu_us_per_message", "CPU time per message"},
        {"peak_memory_kib", "Peak memory"}};
    return fields;
}

/// "Peak memory, a / b: 0.90x (geometric mean of 5 cells, 0.80x to 0.95x)"; nothing without cells.
/// `ratio` is asked for each cell.
template <class Ratio>
void conclude(std::vector<std::string>& lines, const std::vector<cell_record>& records,
              const std::string& field, const std::string& title, Ratio ratio)
{
    std::vector<double> medians;
    for (const cell_record& record : records) {
        if (record.what.mode == mode::loaded && field == "messages_per_s") {
            continue; // which is what was asked for
        }
        if (const std::optional<spread> found = ratio(record)) {
            medians.push_back(found->median);
        }
    }
    if (const auto mean = geometric_mean(medians)) {
        const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
        lines.push_back(fmt::format("{}: {:.2f}x (geometric mean of {} cells, {:.2f}x to {:.2f}x)",
                                    title, *mean, medians.size(), *low, *high));
    }
}

} // namespace

std::vector<table> overview(const settings& chosen, const std::vector<cell_record>& records)
{
    return tables_of(
        records, [&](mode shown, bool many) { return empty_overview(chosen, shown, many); },
        [&](const cell_record& record) { return overview_row(chosen, record); });
}

std::vector<table> comparison(const settings& chosen, const std::vector<cell_record>& records)
{
    if (chosen.compared.empty()) {
        return {};
    }
    return tables_of(
        records, [&](mode shown, bool many) { return empty_comparison(chosen, shown, many); },
        [&](const cell_record& record) {
            return comparison_row(chosen, record, reference_of(chosen, record, records));
        });
}

table details(const settings& chosen, const std::vector<cell_record>& records)
{
    table result;
    result.title = "Every figure: median [lowest .. highest]";
    result.left_columns = 5;
    result.headers = {"pattern", "transport", "bytes", "mode", "figure"};
    for (const library& each : chosen.libraries) {
        result.headers.push_back(each.name);
    }
    for (std::size_t baseline = 1; baseline < chosen.libraries.size(); ++baseline) {
        result.headers.push_back("ratio to " + chosen.libraries[baseline].name);
    }
    for (const cell_record& record : records) {
        for (const figure& each : figures_of(record.what)) {
            std::vector<std::string> row = row_start(record.what);
            row.emplace_back(name(record.what.mode));
            row.push_back(fmt::format("{} ({})", each.title, each.unit));
            for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
                row.push_back(with_spread(values_of(record, index, each.field), each.unit));
            }
            for (std::size_t baseline = 1; baseline < chosen.libraries.size(); ++baseline) {
                row.push_back(ratio_text(ratios_of(record, baseline, each.field)));
            }
            result.rows.push_back(std::move(row));
        }
    }
    return result;
}

std::vector<std::string> conclusions(const settings& chosen,
                                     const std::vector<cell_record>& records)
{
    std::vector<std::string> lines;
    for (std::size_t baseline = 1; baseline < chosen.libraries.size(); ++baseline) {
        for (const auto& [field, title] : concluding_figures()) {
            conclude(lines, records, field,
                     fmt::format("{}, {} / {}", title, chosen.libraries[0].name,
                                 chosen.libraries[baseline].name),
                     [&, &field = field](const cell_record& record) {
                         return ratios_of(record, baseline, field);
                     });
        }
    }
    for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
        for (std::size_t other = 1; other < chosen.compared.size(); ++other) {
            for (const auto& [field, title] : concluding_figures()) {
                conclude(lines, records, field,
                         fmt::format("{}, {}: {} / {}", title, chosen.libraries[index].name,
                                     name(chosen.compared[other]), name(chosen.compared[0])),
                         [&, &field = field](const cell_record& record) -> std::optional<spread> {
                             const auto* const reference = reference_of(chosen, record, records);
                             if (record.what.transport != chosen.compared[other] ||
                                 reference == nullptr) {
                                 return std::nullopt;
                             }
                             return ratios_of_cells(record, *reference, index, field);
                         });
            }
        }
    }
    return lines;
}

std::vector<std::string> failures(const settings& chosen, const std::vector<cell_record>& records)
{
    std::vector<std::string> lines;
    for (const cell_record& record : records) {
        for (const run_record& run : record.runs) {
            if (run.failed()) {
                lines.push_back(fmt::format("{}, {}, run {}: {}", title(record.what),
                                            chosen.libraries[run.library].name, run.number,
                                            run.failure));
            }
        }
    }
    return lines;
}

} // namespace zlink::bench::runner
