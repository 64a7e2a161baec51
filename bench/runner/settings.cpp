// SPDX-License-Identifier: Apache-2.0
#include "runner/settings.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
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
    std::vector<int> io_threads;
    std::vector<api> apis;
    std::vector<mechanism> mechanisms;
    std::vector<transport> compared; ///< if any, instead of the transports
    std::map<dimension, std::vector<int>> extents;
    bool quick = false;
    bool many = false; ///< patterns with many connections unless they are listed
};

/// Extents of cells with many connections unless told otherwise.
std::vector<int> default_extents(dimension which, pattern of, bool quick)
{
    switch (which) {
    case dimension::peers:
        if (of == pattern::connections) {
            return quick ? std::vector{100} : std::vector{1000};
        }
        return quick ? std::vector{2, 100} : std::vector{2, 10, 100, 1000};
    case dimension::threads:
        return quick ? std::vector{1} : std::vector{1, 4};
    case dimension::sockets:
        return quick ? std::vector{50} : std::vector{1, 50};
    case dimension::clients:
        return quick ? std::vector{4} : std::vector{1, 4, 16};
    case dimension::window:
        return quick ? std::vector{100} : std::vector{1, 100};
    case dimension::subscribers:
        return quick ? std::vector{10} : std::vector{10, 100};
    case dimension::workers:
        return {4};
    case dimension::publishers:
        break;
    }
    return {1};
}

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

std::vector<pattern> patterns_with(bool many_connections)
{
    std::vector<pattern> patterns = all_of(pattern_names());
    std::erase_if(patterns, [many_connections](pattern each) {
        return has_many_connections(each) != many_connections;
    });
    return patterns;
}

void fill_in(selection& chosen)
{
    if (!chosen.compared.empty()) {
        chosen.transports = chosen.compared;
    }
    default_to(chosen.io_threads, {1});
    default_to(chosen.apis, {api::buffer});
    default_to(chosen.mechanisms, {mechanism::null});
    const bool many = chosen.many || std::any_of(chosen.patterns.begin(), chosen.patterns.end(),
                                                 has_many_connections);
    if (many) {
        default_to(chosen.sizes_bytes, {64});
        default_to(chosen.patterns, patterns_with(true));
    }
    if (chosen.quick) {
        default_to(chosen.patterns, {pattern::pair, pattern::pub_sub, pattern::dealer_router,
                                     pattern::router_router_poll});
        default_to(chosen.transports, {transport::tcp});
        default_to(chosen.sizes_bytes, {64, 65536});
    }
    default_to(chosen.patterns, patterns_with(false));
    // Those that every library has.
    default_to(chosen.transports, {transport::tcp, transport::ipc, transport::inproc});
    default_to(chosen.sizes_bytes, {64, 1024, 65536});
    default_to(chosen.modes, all_of(mode_names()));
}

/// All combinations of the extents that a pattern has.
std::vector<std::vector<int>> extents_of(const selection& chosen, pattern of)
{
    std::vector<std::vector<int>> combinations{{}};
    for (const dimension each : dimensions_of(of)) {
        const auto given = chosen.extents.find(each);
        const bool any = given != chosen.extents.end() && !given->second.empty();
        const auto values = any ? given->second : default_extents(each, of, chosen.quick);
        std::vector<std::vector<int>> longer;
        for (const std::vector<int>& begin : combinations) {
            for (const int value : values) {
                longer.push_back(begin);
                longer.back().push_back(value);
            }
        }
        combinations = std::move(longer);
    }
    return combinations;
}

/// A load knows no window: one such cell is enough, the one with the last window, whose rate it has
/// a share of.
bool is_repeated(const selection& chosen, const cell& what)
{
    const cell last{what.pattern, what.transport, what.mode, what.size_bytes,
                    extents_of(chosen, what.pattern).back()};
    return what.mode == mode::loaded &&
           extent(what, dimension::window) != extent(last, dimension::window);
}

/// Replaces each cell by one for each value of a field.
template <class Value>
void vary(std::vector<cell>& cells, Value cell::*field, const std::vector<Value>& values)
{
    std::vector<cell> more;
    for (const cell& each : cells) {
        for (const Value& value : values) {
            more.push_back(each);
            more.back().*field = value;
        }
    }
    cells = std::move(more);
}

std::vector<cell> cells_of(const selection& chosen)
{
    std::vector<cell> cells;
    for (const pattern each : chosen.patterns) {
        std::vector<cell> own(1);
        own.front().pattern = each;
        vary(own, &cell::extents, extents_of(chosen, each));
        if (chosen.compared.empty()) {
            vary(own, &cell::transport, chosen.transports);
        }
        vary(own, &cell::size_bytes, chosen.sizes_bytes);
        vary(own, &cell::io_threads, chosen.io_threads);
        vary(own, &cell::api, chosen.apis);
        vary(own, &cell::mechanism, chosen.mechanisms);
        vary(own, &cell::mode, chosen.modes);
        if (!chosen.compared.empty()) {
            vary(own, &cell::transport, chosen.compared); // one after the other: taking turns
        }
        cells.insert(cells.end(), own.begin(), own.end());
    }
    std::erase_if(cells, [&](const cell& what) { return is_repeated(chosen, what); });
    return cells;
}

std::vector<library> parse_libraries(const std::vector<std::string>& texts,
                                     const std::filesystem::path& worker)
{
    std::vector<library> libraries;
    for (const std::string& text : texts) {
        const auto split = text.find('=');
        if (split == 0 || split == std::string::npos) {
            throw CLI::ValidationError("--library: expected NAME=DIR, not " + text);
        }
        std::error_code error;
        library added{text.substr(0, split), std::filesystem::absolute(text.substr(split + 1)),
                      worker};
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

/// LIBRARY:VARIABLE=VALUE
void add_environment(std::vector<library>& libraries, const std::string& text)
{
    const auto colon = text.find(':');
    const auto equals = text.find('=');
    if (colon == std::string::npos || equals == std::string::npos || equals < colon + 2) {
        throw CLI::ValidationError("--env: expected LIBRARY:VARIABLE=VALUE, not " + text);
    }
    const auto named = std::ranges::find(libraries, text.substr(0, colon), &library::name);
    if (named == libraries.end()) {
        throw CLI::ValidationError("--env: there is no library " + text.substr(0, colon));
    }
    named->environment[text.substr(colon + 1, equals - colon - 1)] = text.substr(equals + 1);
}

void add_selection_options(CLI::App& app, selection& chosen)
{
    const auto names = [](const auto& map) { return CLI::CheckedTransformer(map).description(""); };
    app.add_flag("--quick", chosen.quick,
                 "A small subset in less than a minute; the lists below override its parts");
    app.add_option("--pattern", chosen.patterns,
                   "Patterns: pair, pub_sub, push_pull, dealer_dealer, dealer_router, "
                   "router_router, router_router_poll, req_rep, stream, client_server, "
                   "scatter_gather (all of these); with many connections: to_many_router, "
                   "to_many_push, to_many_pub, from_many_push, from_many_dealer, broker, "
                   "forwarder, connections")
        ->delimiter(',')
        ->transform(names(pattern_names()));
    auto* transports = app.add_option("--transport", chosen.transports,
                                      "Transports: tcp, ipc, inproc (these), ws, tls, wss")
                           ->delimiter(',')
                           ->transform(names(transport_names()));
    app.add_option("--compare", chosen.compared,
                   "Transports that take turns, to compare the first of them with the others, "
                   "such as tcp,ws,tls,wss")
        ->delimiter(',')
        ->transform(names(transport_names()))
        ->excludes(transports);
    app.add_option("--size", chosen.sizes_bytes, "Body sizes in bytes, at least 8 (64,1024,65536)")
        ->delimiter(',')
        ->check(CLI::Range(min_size_bytes, std::size_t{1} << 30));
    app.add_option("--mode", chosen.modes,
                   "Modes: throughput, latency, and with many connections loaded, which is latency "
                   "at a fixed rate (all that there are)")
        ->delimiter(',')
        ->transform(names(mode_names()));
    app.add_option("--io-threads", chosen.io_threads, "I/O threads of each context (1)")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber);
    app.add_option("--api", chosen.apis, "buffer (zmq_send, zmq_recv), msg (zmq_msg_*) (buffer)")
        ->delimiter(',')
        ->transform(names(api_names()));
    app.add_option("--mechanism", chosen.mechanisms, "Mechanisms: null, curve (null)")
        ->delimiter(',')
        ->transform(names(mechanism_names()));
}

void add_extent_options(CLI::App& app, selection& chosen)
{
    const std::string group = "Many connections";
    app.add_flag("--many", chosen.many, "All patterns with many connections, instead of the others")
        ->group(group);
    const std::map<dimension, std::string> help{
        {dimension::peers, "to_many: receivers (2,10,100,1000); connections: how many (1000)"},
        {dimension::threads, "from_many: threads that send (1,4)"},
        {dimension::sockets, "from_many: sockets of each thread (1,50)"},
        {dimension::clients, "broker: clients (1,4,16)"},
        {dimension::workers, "broker: workers (4)"},
        {dimension::window, "broker: requests each client has under way (1,100)"},
        {dimension::publishers, "forwarder: publishers (1)"},
        {dimension::subscribers, "forwarder: subscribers (10,100)"}};
    for (const auto& [which, text] : help) {
        app.add_option(fmt::format("--{}", name(which)), chosen.extents[which], text)
            ->delimiter(',')
            ->check(CLI::Range(1, 100'000))
            ->group(group);
    }
}

/// Options that the worker checks and understands; given on if they were used.
struct passed_on {
    std::map<std::string, std::string> values;
    bool two_processes = false;
    bool shows_counts = false;

    void add_to(CLI::App& app)
    {
        const std::vector<std::pair<std::string, std::string>> options{
            {"--hwm", "Send and receive high-water mark of every socket (1000)"},
            {"--contexts", "1: both sides share a context (2; inproc always 1)"},
            {"--count", "Timed messages or round trips (derived from the cell)"},
            {"--scale", "Factor on the derived count (1, with --quick 0.5)"},
            {"--warm-up", "Untimed messages before (a tenth of the count)"},
            {"--pin", "CPUs of the source's and the sink's thread, e.g. 0,1 (not pinned)"},
            {"--receive", "Many sockets of one thread: each in turn, or poll (turn)"},
            {"--receivers", "Threads that receive from many sockets (1)"},
            {"--idle-subscribers", "to_many_pub, loaded with --rate: more that never read (0)"}};
        for (const auto& [option, help] : options) {
            app.add_option(option, values[option], help)->group("Given on to the worker");
        }
        app.add_flag("--two-processes", two_processes, "Run the two sides in two processes")
            ->group("Given on to the worker");
        app.add_flag("--counts", shows_counts,
                     "Print what zlink has counted for each socket: who wrote, why, spins, leases")
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

std::filesystem::path beside_this_program(const char* program)
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / program;
}

void require_file(const std::string& option, const std::filesystem::path& file)
{
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
        throw CLI::ValidationError(option + ": there is no " + file.string());
    }
}

/// Cells that cannot be measured with the chosen options are not failures, so they are left out.
void drop_impossible(std::vector<cell>& cells, const passed_on& options)
{
    const auto contexts = options.values.find("--contexts")->second;
    const bool pinned = !options.values.find("--pin")->second.empty();
    std::erase_if(cells, [&](const cell& what) {
        return !exists(what) ||
               (has_many_connections(what.pattern) && (options.two_processes || pinned)) ||
               (is_timed(what) && what.size_bytes < min_timed_size_bytes) ||
               (what.transport == transport::inproc && (options.two_processes || contexts == "2"));
    });
    if (cells.empty()) {
        throw CLI::ValidationError(
            "nothing to measure: inproc needs one process and one context, "
            "stream is for tcp and tls; many connections are in one process and not "
            "pinned, and their latency needs 16 bytes and, unless it is "
            "loaded, a broker");
    }
}

} // namespace

settings parse_settings(int argc, char** argv)
{
    settings chosen;
    selection selected;
    passed_on options;
    std::vector<std::string> libraries;
    std::filesystem::path worker = beside_this_program("zlink_bench_worker");
    std::vector<std::string> environment;
    bool floor = false;

    CLI::App app("Compares libraries that implement the C API of ZeroMQ (libzmq.so.5)");
    app.add_option("--library", libraries,
                   "NAME=DIR, where DIR contains libzmq.so.5; the first one is compared with each "
                   "of the following")
        ->required()
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--env", environment,
                   "LIBRARY:VARIABLE=VALUE, in the environment of the runs of that library")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--floor", floor,
                 "One library more: sockets alone, which for tls and wss means OpenSSL over tcp");
    add_selection_options(app, selected);
    add_extent_options(app, selected);
    app.add_option("--load", chosen.load,
                   "loaded: share of the highest rate of the second library, measured first (0.5)")
        ->check(CLI::Range(0.01, 2.0))
        ->group("Many connections");
    app.add_option("--rate", chosen.per_second, "loaded: messages per second instead")
        ->check(CLI::PositiveNumber)
        ->group("Many connections");
    auto* runs = app.add_option("--runs", chosen.runs, "Runs of each cell and library (5)")
                     ->check(CLI::PositiveNumber);
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds after which a run is stuck (120)")
        ->check(CLI::PositiveNumber);
    app.add_option("--worker", worker, "The worker program (beside this program)");
    app.add_option("--markdown", chosen.markdown_file, "Write tables in Markdown to this file");
    app.add_option("--csv", chosen.csv_file, "Write every single run to this file");
    app.add_option("--json", chosen.json_file, "Write every single run and the summary");
    options.add_to(app);

    try {
        app.parse(argc, argv);
        chosen.libraries = parse_libraries(libraries, worker);
        for (const std::string& each : environment) {
            add_environment(chosen.libraries, each);
        }
        require_file("--worker", worker);
        if (floor) {
            chosen.libraries.push_back({"sockets", {}, beside_this_program("zlink_bench_floor")});
            require_file("--floor", chosen.libraries.back().program);
        }
        if (selected.quick && runs->count() == 0) {
            chosen.runs = 3;
        }
        if (selected.quick && options.values["--scale"].empty()) {
            options.values["--scale"] = "0.5";
        }
        fill_in(selected);
        chosen.compared = selected.compared;
        chosen.cells = cells_of(selected);
        drop_impossible(chosen.cells, options);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }
    chosen.worker_arguments = options.arguments();
    chosen.shows_counts = options.shows_counts;
    chosen.worker_arguments.push_back(fmt::format("--timeout-s={}", chosen.timeout_s));
    return chosen;
}

} // namespace zlink::bench::runner
