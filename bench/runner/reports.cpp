// SPDX-License-Identifier: Apache-2.0
#include "runner/reports.hpp"

#include "runner/statistics.hpp"
#include "runner/summary.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace zlink::bench::runner {

namespace {

const std::vector<std::string>& csv_fields()
{
    static const std::vector<std::string> fields{"peers",
                                                 "threads",
                                                 "sockets",
                                                 "clients",
                                                 "workers",
                                                 "window",
                                                 "publishers",
                                                 "subscribers",
                                                 "offered_per_s",
                                                 "receivers",
                                                 "messages",
                                                 "count",
                                                 "warm_up",
                                                 "hwm",
                                                 "io_threads",
                                                 "contexts",
                                                 "processes",
                                                 "api",
                                                 "mechanism",
                                                 "elapsed_s",
                                                 "messages_per_s",
                                                 "mb_per_s",
                                                 "latency_mean_us",
                                                 "latency_min_us",
                                                 "latency_p50_us",
                                                 "latency_p99_us",
                                                 "latency_p99_9_us",
                                                 "latency_max_us",
                                                 "memory_per_connection_kib",
                                                 "memory_per_idle_connection_kib",
                                                 "cpu_us_per_message",
                                                 "cpu_user_s",
                                                 "cpu_system_s",
                                                 "peak_memory_kib",
                                                 "library_version",
                                                 "library_path"};
    return fields;
}

std::string csv_quote(const std::string& text)
{
    if (text.find_first_of(",\"\n") == std::string::npos) {
        return text;
    }
    std::string result = "\"";
    for (const char character : text) {
        result += character;
        if (character == '"') {
            result += '"';
        }
    }
    return result + '"';
}

std::string csv_row(const settings& chosen, const cell& what, const run_record& run)
{
    std::string row = fmt::format(
        "{},{},{},{},{},{},{}", name(what.pattern), name(what.transport), name(what.mode),
        what.size_bytes, csv_quote(chosen.libraries[run.library].name), run.number, run.status());
    for (const std::string& field : csv_fields()) {
        row += ',' + csv_quote(run.fields.text(field));
    }
    return row + ',' + csv_quote(run.failure) + '\n';
}

/// Relative to the working directory if the file lies below it.
std::string short_path(const std::string& path)
{
    std::error_code error;
    const std::string relative = std::filesystem::proximate(path, error).string();
    return error || relative.rfind("..", 0) == 0 ? path : relative;
}

std::string json_spread(const std::optional<spread>& values)
{
    return values ? json_object()
                        .add("median", values->median)
                        .add("min", values->min)
                        .add("max", values->max)
                        .str()
                  : "null";
}

json_object json_cell(const cell& what)
{
    json_object object;
    object.add("pattern", name(what.pattern))
        .add("transport", name(what.transport))
        .add("mode", name(what.mode))
        .add("size_bytes", std::uint64_t{what.size_bytes})
        .add("io_threads", what.io_threads)
        .add("api", name(what.api))
        .add("mechanism", name(what.mechanism));
    for (const dimension each : dimensions_of(what.pattern)) {
        object.add(name(each), extent(what, each));
    }
    return object;
}

std::string json_run(const settings& chosen, const cell& what, const run_record& run)
{
    return json_cell(what)
        .add("library", chosen.libraries[run.library].name)
        .add("run", run.number)
        .add("status", run.status())
        .add("failure", run.failure)
        .add_raw("result", run.line.empty() ? "null" : run.line)
        .str();
}

std::string json_summary(const settings& chosen, const cell_record& record)
{
    json_object values;
    json_object ratios;
    for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
        json_object spreads;
        json_object spreads_of_ratio;
        for (const figure& each : figures_of(record.what)) {
            spreads.add_raw(each.field, json_spread(values_of(record, index, each.field)));
            spreads_of_ratio.add_raw(each.field, json_spread(ratios_of(record, index, each.field)));
        }
        spreads.add("failed_runs", std::uint64_t{failures_of(record, index)});
        values.add_raw(chosen.libraries[index].name, spreads.str());
        if (index > 0) {
            ratios.add_raw(chosen.libraries[index].name, spreads_of_ratio.str());
        }
    }
    json_object cell = json_cell(record.what);
    cell.add_raw("libraries", values.str()).add_raw("ratio_of_first_to", ratios.str());
    if (const auto floor = floor_of(chosen)) {
        json_object shares;
        for (std::size_t index = 0; index < *floor; ++index) {
            shares.add_raw(chosen.libraries[index].name,
                           json_spread(shares_of_floor(chosen, record, index)));
        }
        cell.add_raw("share_of_floor", shares.str());
    }
    return cell.str();
}

std::string json_libraries(const findings& found)
{
    std::vector<std::string> entries;
    for (std::size_t index = 0; index < found.identities.size(); ++index) {
        const identity& each = found.identities[index];
        entries.push_back(
            json_object()
                .add("name", found.chosen.libraries[index].name)
                .add("version", each.version)
                .add("path", each.path)
                .add("problem", each.problem)
                .add_raw("is_floor", found.chosen.libraries[index].is_floor() ? "true" : "false")
                .str());
    }
    return json_array(entries);
}

/// What was compared: libraries, transports, or both.
std::vector<table> tables(const findings& found)
{
    std::vector<table> shown = comparison(found.chosen, found.records);
    if (shown.empty() || found.chosen.libraries.size() > 1) {
        std::vector<table> more = overview(found.chosen, found.records);
        shown.insert(shown.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
    }
    return shown;
}

/// The ratios of a cell to the one with the first of the compared transports.
std::string json_comparison(const settings& chosen, const cell_record& record,
                            const cell_record& reference)
{
    json_object ratios;
    for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
        json_object spreads;
        for (const figure& each : figures_of(record.what)) {
            spreads.add_raw(each.field,
                            json_spread(ratios_of_cells(record, reference, index, each.field)));
        }
        ratios.add_raw(chosen.libraries[index].name, spreads.str());
    }
    return json_cell(record.what)
        .add("compared_with", name(reference.what.transport))
        .add_raw("ratios", ratios.str())
        .str();
}

} // namespace

std::vector<std::string> preamble(const findings& found)
{
    const settings& chosen = found.chosen;
    std::vector<std::string> lines{fmt::format("Machine: {}, {} CPUs, {}", found.where.cpu_model,
                                               found.where.cpus, found.where.kernel),
                                   fmt::format("Date: {}, load average before: {:.2f}",
                                               found.where.date, found.where.load_average)};
    if (found.where.load_average > 0.5) {
        lines.emplace_back("WARNING: the machine is busy with other work, expect wide spreads");
    }
    for (std::size_t index = 0; index < found.identities.size(); ++index) {
        const identity& each = found.identities[index];
        lines.push_back(fmt::format("Library {}: version {}, {}", chosen.libraries[index].name,
                                    each.version, short_path(each.path)));
        if (!each.problem.empty()) {
            lines.push_back(
                fmt::format("WARNING: {}: {}", chosen.libraries[index].name, each.problem));
        }
    }
    lines.push_back(fmt::format("Runs per cell and library: {}, taking turns; worker options: {}",
                                chosen.runs, fmt::join(chosen.worker_arguments, " ")));
    if (chosen.libraries.size() > 1) {
        lines.push_back(fmt::format(
            "Ratios are {} divided by the other library: above 1 is better for rates, below 1 for "
            "latency, CPU time and memory. Brackets give the lowest and the highest pair of runs.",
            chosen.libraries[0].name));
    }
    if (floor_of(chosen)) {
        lines.emplace_back(
            "The floor is what sockets alone do with the same connections, messages and threads. A "
            "library's share of it is its rate divided by that of the floor, or the floor's mean "
            "latency divided by the library's.");
    }
    if (chosen.compared.size() > 1) {
        lines.push_back(fmt::format("Transports take turns too; ratios of transports are to {}.",
                                    name(chosen.compared[0])));
    }
    return lines;
}

std::string to_text(const findings& found)
{
    std::string text;
    for (const table& each : tables(found)) {
        text += to_text(each);
    }
    for (const std::string& line : conclusions(found.chosen, found.records)) {
        text += line + '\n';
    }
    for (const std::string& line : failures(found.chosen, found.records)) {
        text += "FAILED: " + line + '\n';
    }
    return text;
}

std::string to_markdown(const findings& found)
{
    std::string text;
    for (const std::string& line : preamble(found)) {
        text += fmt::format("- {}\n", line);
    }
    text += '\n';
    for (const std::string& line : conclusions(found.chosen, found.records)) {
        text += fmt::format("- {}\n", line);
    }
    text += '\n';
    for (const table& each : tables(found)) {
        text += to_markdown(each);
    }
    const auto failed = failures(found.chosen, found.records);
    if (!failed.empty()) {
        text += "### Failed runs\n\n";
    }
    for (const std::string& line : failed) {
        text += fmt::format("- {}\n", line);
    }
    return text + "\n<details>\n<summary>Details</summary>\n\n" +
           to_markdown(details(found.chosen, found.records)) + "</details>\n";
}

std::string to_csv(const findings& found)
{
    std::string text;
    for (const std::string& line : preamble(found)) {
        text += "# " + line + '\n';
    }
    text += fmt::format("pattern,transport,mode,size_bytes,library,run,status,{},failure\n",
                        fmt::join(csv_fields(), ","));
    for (const cell_record& record : found.records) {
        for (const run_record& run : record.runs) {
            text += csv_row(found.chosen, record.what, run);
        }
    }
    return text;
}

std::string to_json(const findings& found)
{
    std::vector<std::string> runs;
    std::vector<std::string> summary;
    std::vector<std::string> compared;
    for (const cell_record& record : found.records) {
        for (const run_record& run : record.runs) {
            runs.push_back(json_run(found.chosen, record.what, run));
        }
        summary.push_back(json_summary(found.chosen, record));
        const cell_record* const reference = reference_of(found.chosen, record, found.records);
        if (reference != nullptr && reference != &record) {
            compared.push_back(json_comparison(found.chosen, record, *reference));
        }
    }
    const std::string machine = json_object()
                                    .add("cpu_model", found.where.cpu_model)
                                    .add("cpus", found.where.cpus)
                                    .add("kernel", found.where.kernel)
                                    .add("date", found.where.date)
                                    .add("load_average", found.where.load_average)
                                    .str();
    return json_object()
               .add_raw("machine", machine)
               .add_raw("libraries", json_libraries(found))
               .add("runs_per_cell", found.chosen.runs)
               .add("worker_options",
                    fmt::format("{}", fmt::join(found.chosen.worker_arguments, " ")))
               .add_raw("summary", json_array(summary))
               .add_raw("compared_transports", json_array(compared))
               .add_raw("runs", json_array(runs))
               .str() +
           '\n';
}

void write_file(const std::string& path, const std::string& content)
{
    std::ofstream file(path, std::ios::binary);
    file << content;
    file.close();
    if (!file) {
        throw std::runtime_error("cannot write " + path);
    }
}

} // namespace zlink::bench::runner
