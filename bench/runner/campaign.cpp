// SPDX-License-Identifier: Apache-2.0
#include "runner/campaign.hpp"

#include "runner/process.hpp"
#include "runner/statistics.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace zlink::bench::runner {

namespace {

/// A directory for the temporary files of all workers, also of those that crash.
class scratch_directory {
public:
    scratch_directory()
    {
        std::error_code ignored;
        std::string path = std::filesystem::temp_directory_path(ignored) / "zlink-bench-XXXXXX";
        if (mkdtemp(path.data()) == nullptr) {
            throw std::runtime_error(fmt::format("mkdtemp {}: {}", path, std::strerror(errno)));
        }
        path_ = path;
    }
    ~scratch_directory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// Shows what is going on: on a terminal in one line that changes, elsewhere only finished cells.
class progress {
public:
    explicit progress(std::size_t total_runs)
        : total_runs_(total_runs), terminal_(isatty(STDERR_FILENO) == 1)
    {}

    void start(const cell& what, const std::string& library, int number)
    {
        ++started_runs_;
        if (terminal_) {
            fmt::print(stderr, "\r\x1b[K[{}/{}] {}: {}, run {}", started_runs_, total_runs_,
                       title(what), library, number);
            std::fflush(stderr);
        }
    }

    void finish(const settings& chosen, const cell_record& record)
    {
        std::string text;
        for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
            text += fmt::format("  {} {}", chosen.libraries[index].name,
                                headline(record, index, chosen.runs));
        }
        fmt::print(stderr, "{}[{}/{}] {}:{}\n", terminal_ ? "\r\x1b[K" : "", started_runs_,
                   total_runs_, title(record.what), text);
    }

private:
    std::size_t total_runs_;
    std::size_t started_runs_ = 0;
    bool terminal_;
};

std::map<std::string, std::string> environment_for(const library& measured)
{
    if (measured.is_floor()) {
        return measured.environment;
    }
    const char* const inherited = std::getenv("LD_LIBRARY_PATH");
    std::string path = measured.directory.string();
    if (inherited != nullptr && *inherited != '\0') {
        path += fmt::format(":{}", inherited);
    }
    auto environment = measured.environment;
    environment["LD_LIBRARY_PATH"] = path;
    return environment;
}

std::string last_line(const std::string& text)
{
    const auto end = text.find_last_not_of(" \n");
    if (end == std::string::npos) {
        return {};
    }
    const auto start = text.find_last_of('\n', end);
    return text.substr(start == std::string::npos ? 0 : start + 1, end - start);
}

std::string why_it_failed(const process_result& result, const json_fields& fields)
{
    std::string reason = fields.text("status");
    if (!reason.empty() && reason != "ok") {
        return fmt::format("{}: {}", reason, fields.text("error"));
    }
    reason = result.failure.empty() ? "no result" : result.failure;
    const std::string said = last_line(result.errors);
    return said.empty() ? reason : fmt::format("{}: {}", reason, said);
}

run_record run_worker(const settings& chosen, std::vector<std::string> arguments,
                      const library& measured, const std::filesystem::path& scratch)
{
    // The worker notices by itself when it is stuck; this is for the case that it does not.
    constexpr int grace_s = 15;
    auto environment = environment_for(measured);
    environment["TMPDIR"] = scratch.string();
    arguments.insert(arguments.end(), chosen.worker_arguments.begin(),
                     chosen.worker_arguments.end());
    const bool shows_counts = chosen.shows_counts && !measured.is_floor();
    if (shows_counts) {
        arguments.emplace_back("--counts");
    }
    const process_result result =
        run_process(measured.program, arguments, environment, chosen.timeout_s + grace_s);

    if (shows_counts) {
        fmt::print(stderr, "{}: {}\n{}", measured.name, fmt::join(arguments, " "), result.errors);
    }
    run_record record;
    const std::string line = result.output.substr(0, result.output.find('\n'));
    if (auto fields = json_fields::parse(line)) {
        record.line = line;
        record.fields = *fields;
    }
    record.skipped = result.failure.empty() && record.fields.text("status") == "skipped";
    if (!result.failure.empty() || record.fields.text("status") != "ok") {
        record.failure = why_it_failed(result, record.fields);
    }
    return record;
}

std::vector<std::string> arguments_for(const cell& what)
{
    std::vector<std::string> arguments{fmt::format("--pattern={}", name(what.pattern)),
                                       fmt::format("--transport={}", name(what.transport)),
                                       fmt::format("--mode={}", name(what.mode)),
                                       fmt::format("--size={}", what.size_bytes),
                                       fmt::format("--io-threads={}", what.io_threads),
                                       fmt::format("--api={}", name(what.api)),
                                       fmt::format("--mechanism={}", name(what.mechanism))};
    for (const dimension each : dimensions_of(what.pattern)) {
        arguments.push_back(fmt::format("--{}={}", name(each), extent(what, each)));
    }
    return arguments;
}

/// What a library did in a cell at the highest rate, if that was measured, else in some runs now.
cell_record runs_at_highest_rate(const settings& chosen, cell what, std::size_t reference,
                                 const std::vector<cell_record>& records,
                                 const std::filesystem::path& scratch)
{
    what.mode = mode::throughput;
    cell_record tried{what, {}};
    for (const cell_record& record : records) {
        if (record.what == what) {
            tried = record;
        }
    }
    if (!values_of(tried, reference, "messages_per_s") && !is_skipped(tried, reference)) {
        for (int number = 1; number <= std::min(chosen.runs, 3); ++number) {
            tried.runs.push_back(run_worker(chosen, arguments_for(tried.what),
                                            chosen.libraries[reference], scratch));
            tried.runs.back().library = reference;
        }
    }
    return tried;
}

struct load {
    std::optional<double> per_second; ///< nothing: not known
    bool is_absent = false;           ///< because no library has what is to be measured
};

/// The rate of cells in loaded mode that differ in their transport only: a share of the highest one
/// of the library that the subject is compared with (of the subject if that has none, or if it is
/// compared with sockets alone), over the slowest of the transports.
load load_of(const settings& chosen, std::span<const cell> group,
             const std::vector<cell_record>& records, const std::filesystem::path& scratch)
{
    if (chosen.per_second > 0) {
        return {chosen.per_second};
    }
    std::optional<double> lowest;
    bool is_absent = true;
    for (const cell& what : group) {
        std::optional<spread> highest;
        for (const std::size_t library : {std::size_t{1}, std::size_t{0}}) {
            if (!highest && library < chosen.libraries.size() &&
                !chosen.libraries[library].is_floor()) {
                const cell_record tried =
                    runs_at_highest_rate(chosen, what, library, records, scratch);
                highest = values_of(tried, library, "messages_per_s");
                is_absent = is_absent && is_skipped(tried, library);
            }
        }
        if (highest) {
            lowest = std::min(highest->median, lowest.value_or(highest->median));
        }
    }
    return {lowest ? std::optional(*lowest * chosen.load) : std::nullopt, is_absent};
}

/// The cell at the beginning, and those after it that take turns with it.
std::span<const cell> next_group(const settings& chosen, std::span<const cell> cells)
{
    std::size_t count = 1;
    while (!chosen.compared.empty() && count < cells.size() &&
           same_but_for_transport(cells[0], cells[count])) {
        ++count;
    }
    return cells.first(count);
}

} // namespace

std::vector<identity> identify(const settings& chosen)
{
    std::vector<identity> found;
    for (const library& each : chosen.libraries) {
        const scratch_directory scratch;
        const run_record record = run_worker(chosen, {"--identify"}, each, scratch.path());
        identity added{record.fields.text("library_version"), record.fields.text("library_path"),
                       record.failure};
        std::error_code error;
        if (record.ok() && !std::filesystem::equivalent(added.path, each.file(), error)) {
            added.problem =
                fmt::format("{} was loaded instead of {}", added.path, each.file().string());
        }
        found.push_back(std::move(added));
    }
    return found;
}

std::vector<cell_record> run_campaign(const settings& chosen)
{
    const scratch_directory scratch;
    const auto runs = static_cast<std::size_t>(chosen.runs);
    progress shown(chosen.cells.size() * chosen.libraries.size() * runs);
    std::vector<cell_record> records;
    for (std::span<const cell> left = chosen.cells; !left.empty();) {
        const std::span<const cell> group = next_group(chosen, left);
        left = left.subspan(group.size());
        std::vector<std::string> added_arguments;
        run_record without_rate;
        if (group.front().mode == mode::loaded) {
            const load wanted = load_of(chosen, group, records, scratch.path());
            if (wanted.per_second) {
                added_arguments.push_back(
                    fmt::format("--rate={:.0f}", std::max(*wanted.per_second, 1.0)));
            } else {
                without_rate.failure = "the highest rate could not be measured";
                without_rate.skipped = wanted.is_absent;
            }
        }
        std::vector<cell_record> added;
        for (const cell& what : group) {
            added.push_back({what, {}});
        }
        for (int number = 1; number <= chosen.runs; ++number) {
            for (cell_record& record : added) {
                std::vector<std::string> arguments = arguments_for(record.what);
                arguments.insert(arguments.end(), added_arguments.begin(), added_arguments.end());
                for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
                    const library& measured = chosen.libraries[index];
                    shown.start(record.what, measured.name, number);
                    run_record run = without_rate;
                    if (run.ok()) {
                        run = run_worker(chosen, arguments, measured, scratch.path());
                    }
                    run.library = index;
                    run.number = number;
                    record.runs.push_back(std::move(run));
                }
            }
        }
        for (cell_record& record : added) {
            shown.finish(chosen, record);
            records.push_back(std::move(record));
        }
    }
    return records;
}

std::string title(const cell& what)
{
    return fmt::format("{} {} {} B {}", label(what), name(what.transport), what.size_bytes,
                       name(what.mode));
}

} // namespace zlink::bench::runner
