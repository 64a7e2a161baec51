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
    const char* const inherited = std::getenv("LD_LIBRARY_PATH");
    std::string path = measured.directory.string();
    if (inherited != nullptr && *inherited != '\0') {
        path += fmt::format(":{}", inherited);
    }
    return {{"LD_LIBRARY_PATH", path}};
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
    const process_result result =
        run_process(chosen.worker, arguments, environment, chosen.timeout_s + grace_s);

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

bool same_but_for_mode(const cell& left, const cell& right)
{
    return left.pattern == right.pattern && left.transport == right.transport &&
           left.size_bytes == right.size_bytes && left.extents == right.extents &&
           left.io_threads == right.io_threads && left.api == right.api &&
           left.mechanism == right.mechanism;
}

/// The rate of a cell in loaded mode: a share of the highest one of the library that the subject is
/// compared with, from the cell in throughput mode if that was measured, else from some runs now.
/// Nothing if these fail.
std::optional<double> rate_of_load(const settings& chosen, const cell& what,
                                   const std::vector<cell_record>& records,
                                   const std::filesystem::path& scratch)
{
    if (chosen.per_second > 0) {
        return chosen.per_second;
    }
    const std::size_t reference = chosen.libraries.size() > 1 ? 1 : 0;
    std::optional<spread> rates;
    for (const cell_record& record : records) {
        if (record.what.mode == mode::throughput && same_but_for_mode(record.what, what)) {
            rates = values_of(record, reference, "messages_per_s");
        }
    }
    if (!rates) {
        cell_record tried{what, {}};
        tried.what.mode = mode::throughput;
        for (int number = 1; number <= std::min(chosen.runs, 3); ++number) {
            tried.runs.push_back(run_worker(chosen, arguments_for(tried.what),
                                            chosen.libraries[reference], scratch));
            tried.runs.back().library = reference;
        }
        rates = values_of(tried, reference, "messages_per_s");
    }
    return rates ? std::optional(rates->median * chosen.load) : std::nullopt;
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
    for (const cell& what : chosen.cells) {
        std::vector<std::string> arguments = arguments_for(what);
        std::string problem;
        if (what.mode == mode::loaded) {
            const auto rate = rate_of_load(chosen, what, records, scratch.path());
            if (rate) {
                arguments.push_back(fmt::format("--rate={:.0f}", std::max(*rate, 1.0)));
            } else {
                problem = "the highest rate could not be measured";
            }
        }
        cell_record& record = records.emplace_back();
        record.what = what;
        for (int number = 1; number <= chosen.runs; ++number) {
            for (std::size_t index = 0; index < chosen.libraries.size(); ++index) {
                const library& measured = chosen.libraries[index];
                shown.start(what, measured.name, number);
                run_record run;
                run.failure = problem;
                if (problem.empty()) {
                    run = run_worker(chosen, arguments, measured, scratch.path());
                }
                run.library = index;
                run.number = number;
                record.runs.push_back(std::move(run));
            }
        }
        shown.finish(chosen, record);
    }
    return records;
}

std::string title(const cell& what)
{
    return fmt::format("{} {} {} B {}", label(what), name(what.transport), what.size_bytes,
                       name(what.mode));
}

} // namespace zlink::bench::runner
