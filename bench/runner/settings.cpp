// SPDX-License-Identifier: Apache-2.0
#include "runner/settings.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <system_error>
#include <utility>

namespace zlink::bench::runner {

namespace {

/// Lists whose products are the cells. Empty ones stand for their default.
struct selection {
    std::vector<pattern> patterns;
    std::vector<transport> transports;
    std::vector<std::size_t> sizes_bytes;
    std::vector<mode> modes;
    bool quick = false;
};

template <class Value>
std::vector<Value> all_of(const std::map<std::string, Value>& names)
{
    std::vector<Value> values;
    values.reserve(names.size());
    for (const auto& [name, value] : names) {
        values.push_back(value);
    }
    std::sort(values.begin(), values.end());
    return values;
}

template <class Value>
void default_to(std::vector<Value>& chosen, std::vector<Value> standard)
{
    if (chosen.empty()) {
        chosen = std::move(standard);
    }
}

void fill_in(selection& chosen)
{
    if (chosen.quick) {
        default_to(chosen.patterns, {pattern::pair, pattern::pub_sub, pattern::dealer_router,
                                     pattern::router_router_poll});
        default_to(chosen.transports, {transport::tcp});
        default_to(chosen.sizes_bytes, {64, 65536});
    }
    default_to(chosen.patterns, all_of(pattern_names()));
    default_to(chosen.transports, all_of(transport_names()));
    default_to(chosen.sizes_bytes, {64, 1024, 65536});
    default_to(chosen.modes, all_of(mode_names()));
}

std::vector<cell> cells_of(const selection& chosen)
{
    std::vector<cell> cells;
    for (const auto pattern : chosen.patterns) {
        for (const auto transport : chosen.transports) {
            for (const auto size_bytes : chosen.sizes_bytes) {
                for (const auto mode : chosen.modes) {
                    cells.push_back({pattern, transport, mode, size_bytes});
                }
            }
        }
    }
    return cells;
}

std::vector<library> parse_libraries(const std::vector<std::string>& texts)
{
    std::vector<library> libraries;
    for (const std::string& text : texts) {
        const auto split = text.find('=');
        if (split == 0 || split == std::string::npos) {
            throw CLI::ValidationError("--library: expected NAME=DIR, not " + text);
        }
        std::error_code error;
        library added{text.substr(0, split), std::filesystem::absolute(text.substr(split + 1))};
        if (!std::filesystem::exists(added.file(), error)) {
            throw CLI::ValidationError("--library: there is no " + added.file().string());
        }
        for (const library& earlier : libraries) {
            if (earlier.name == added.name) {
                throw CLI::ValidationError("--library: two libraries are called " + added.name);
            }
        }
        libraries.push_back(std::move(added));
    }
    return libraries;
}

void add_selection_options(CLI::App& app, selection& chosen)
{
    const auto names = [](const auto& map) { return CLI::CheckedTransformer(map).description(""); };
    app.add_flag("--quick", chosen.quick,
                 "A small subset in less than a minute; the lists below override its parts");
    app.add_option("--pattern", chosen.patterns,
                   "Patterns: pair, pub_sub, push_pull, dealer_dealer, dealer_router, "
                   "router_router, router_router_poll, req_rep, stream, client_server, "
                   "scatter_gather (all)")
        ->delimiter(',')
        ->transform(names(pattern_names()));
    app.add_option("--transport", chosen.transports, "Transports: tcp, ipc, inproc (all)")
        ->delimiter(',')
        ->transform(names(transport_names()));
    app.add_option("--size", chosen.sizes_bytes, "Body sizes in bytes, at least 8 (64,1024,65536)")
        ->delimiter(',')
        ->check(CLI::Range(min_size_bytes, std::size_t{1} << 30));
    app.add_option("--mode", chosen.modes, "Modes: throughput, latency (both)")
        ->delimiter(',')
        ->transform(names(mode_names()));
}

/// Options that the worker checks and understands; given on if they were used.
struct passed_on {
    std::map<std::string, std::string> values;
    bool two_processes = false;

    void add_to(CLI::App& app)
    {
        const std::vector<std::pair<std::string, std::string>> options{
            {"--hwm", "Send and receive high-water mark of every socket (1000)"},
            {"--io-threads", "I/O threads of each context (1)"},
            {"--contexts", "1: both sides share a context (2; inproc always 1)"},
            {"--count", "Timed messages or round trips (derived from the cell)"},
            {"--scale", "Factor on the derived count (1, with --quick 0.5)"},
            {"--warm-up", "Untimed messages before (a tenth of the count)"},
            {"--api", "buffer (zmq_send, zmq_recv) or msg (zmq_msg_*) (buffer)"},
            {"--pin", "CPUs of the source's and the sink's thread, e.g. 0,1 (not pinned)"}};
        for (const auto& [option, help] : options) {
            app.add_option(option, values[option], help)->group("Given on to the worker");
        }
        app.add_flag("--two-processes", two_processes, "Run the two sides in two processes")
            ->group("Given on to the worker");
    }

    std::vector<std::string> arguments() const
    {
        std::vector<std::string> result;
        for (const auto& [option, value] : values) {
            if (!value.empty()) {
                result.push_back(fmt::format("{}={}", option, value));
            }
        }
        if (two_processes) {
            result.emplace_back("--two-processes");
        }
        return result;
    }
};

std::filesystem::path worker_beside_this_program()
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() /
           "zlink_bench_worker";
}

/// Cells that cannot be measured with the chosen options are not failures, so they are left out.
void drop_impossible(std::vector<cell>& cells, const passed_on& options)
{
    const auto contexts = options.values.find("--contexts")->second;
    std::erase_if(cells, [&](const cell& what) {
        return !exists(what) ||
               (what.transport == transport::inproc && (options.two_processes || contexts == "2"));
    });
    if (cells.empty()) {
        throw CLI::ValidationError("nothing to measure: inproc needs one process and one context, "
                                   "stream is for tcp");
    }
}

} // namespace

settings parse_settings(int argc, char** argv)
{
    settings chosen;
    selection selected;
    passed_on options;
    std::vector<std::string> libraries;
    chosen.worker = worker_beside_this_program();

    CLI::App app("Compares libraries that implement the C API of ZeroMQ (libzmq.so.5)");
    app.add_option("--library", libraries,
                   "NAME=DIR, where DIR contains libzmq.so.5; the first one is compared with each "
                   "of the following")
        ->required()
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add_selection_options(app, selected);
    auto* runs = app.add_option("--runs", chosen.runs, "Runs of each cell and library (5)")
                     ->check(CLI::PositiveNumber);
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds after which a run is stuck (120)")
        ->check(CLI::PositiveNumber);
    app.add_option("--worker", chosen.worker, "The worker program (beside this program)");
    app.add_option("--markdown", chosen.markdown_file, "Write tables in Markdown to this file");
    app.add_option("--csv", chosen.csv_file, "Write every single run to this file");
    app.add_option("--json", chosen.json_file, "Write every single run and the summary");
    options.add_to(app);

    try {
        app.parse(argc, argv);
        chosen.libraries = parse_libraries(libraries);
        if (!std::filesystem::exists(chosen.worker)) {
            throw CLI::ValidationError("--worker: there is no " + chosen.worker.string());
        }
        if (selected.quick && runs->count() == 0) {
            chosen.runs = 3;
        }
        if (selected.quick && options.values["--scale"].empty()) {
            options.values["--scale"] = "0.5";
        }
        fill_in(selected);
        chosen.cells = cells_of(selected);
        drop_impossible(chosen.cells, options);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    chosen.worker_arguments = options.arguments();
    chosen.worker_arguments.push_back(fmt::format("--timeout-s={}", chosen.timeout_s));
    return chosen;
}

} // namespace zlink::bench::runner
