// SPDX-License-Identifier: Apache-2.0
#include "worker/settings.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

namespace zlink::bench::worker {

namespace {

void add_cell_options(CLI::App& app, cell& what)
{
    app.add_option("--pattern", what.pattern, "Socket pattern")
        ->transform(CLI::CheckedTransformer(pattern_names()).description(""));
    app.add_option("--transport", what.transport, "Transport: tcp, ipc, inproc, ws, tls or wss")
        ->transform(CLI::CheckedTransformer(transport_names()).description(""));
    app.add_option("--mode", what.mode, "throughput or latency")
        ->transform(CLI::CheckedTransformer(mode_names()).description(""));
    app.add_option("--size", what.size_bytes, "Message body in bytes, at least 8")
        ->check(CLI::Range(min_size_bytes, std::size_t{1} << 30));
    app.add_option("--io-threads", what.io_threads, "I/O threads of each context")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--api", what.api, "buffer (zmq_send, zmq_recv) or msg (zmq_msg_*)")
        ->transform(CLI::CheckedTransformer(api_names()).description(""));
    app.add_option("--mechanism", what.mechanism, "null or curve")
        ->transform(CLI::CheckedTransformer(mechanism_names()).description(""));
}

void add_many_options(CLI::App& app, settings& chosen, std::map<dimension, int>& extents)
{
    static const std::map<std::string, receive_order> orders{{"turn", receive_order::turn},
                                                             {"poll", receive_order::poll}};
    constexpr int max_extent = 100'000;
    for (const auto& [name, value] : dimension_names()) {
        extents[value] = 1;
        app.add_option("--" + name, extents[value], "Extent of a pattern with many connections")
            ->check(CLI::Range(1, max_extent));
    }
    app.add_option("--rate", chosen.per_second, "Messages per second in loaded mode")
        ->check(CLI::PositiveNumber);
    app.add_option("--receivers", chosen.receivers, "Threads that receive from many sockets")
        ->check(CLI::PositiveNumber);
    app.add_option("--idle-subscribers", chosen.idle_subscribers,
                   "to_many_pub in loaded mode: more subscribers, which never read")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--receive", chosen.order,
                   "Sockets of one thread: turn (each in turn) or poll (which have messages)")
        ->transform(CLI::CheckedTransformer(orders).description(""));
}

/// The same for many connections.
std::string contradiction_of_many(const settings& chosen)
{
    const cell& what = chosen.what;
    if (chosen.two_processes || !chosen.cpus.empty()) {
        return "many connections are measured in one process and are not pinned";
    }
    if (is_timed(what) && what.size_bytes < min_timed_size_bytes) {
        return "messages that carry a time have at least 16 bytes";
    }
    if ((what.mode == mode::loaded) != (chosen.per_second > 0)) {
        return "loaded mode needs --rate, the others do not use it";
    }
    const auto window = static_cast<std::uint64_t>(extent(what, dimension::window));
    if (window > max_requests_under_way(chosen.hwm)) {
        return "ROUTER may drop replies if the window is larger than a quarter of the high-water "
               "mark";
    }
    const bool several_receivers = what.pattern == pattern::to_many_router ||
                                   what.pattern == pattern::to_many_pub ||
                                   what.pattern == pattern::forwarder;
    if (chosen.receivers != 1 && !several_receivers) {
        return "--receivers is for to_many_router, to_many_pub and forwarder";
    }
    // Only what is dropped for them keeps the others going, and at full speed it is for all.
    if (chosen.idle_subscribers != 0 &&
        (what.pattern != pattern::to_many_pub || what.mode != mode::loaded)) {
        return "--idle-subscribers is for to_many_pub in loaded mode";
    }
    if (chosen.receivers > party_count(what)) {
        return "there are more receiving threads than sockets";
    }
    return {};
}

/// Rules that concern more than one option. Empty if none is broken.
std::string contradiction(const settings& chosen, bool contexts_given)
{
    if (chosen.what.transport == transport::inproc && contexts_given && chosen.contexts != 1) {
        return "inproc needs a context shared by both sides: --contexts 1";
    }
    if (!exists(chosen.what)) {
        return "there is no such cell: stream is for tcp and tls, curve not for stream nor inproc, "
               "loaded for many connections, and with these latency is for broker";
    }
    if (has_many_connections(chosen.what.pattern)) {
        return contradiction_of_many(chosen);
    }
    if (chosen.receivers != 1) {
        return "one connection has one receiver";
    }
    if (chosen.what.transport == transport::inproc && chosen.two_processes) {
        return "inproc does not work between two processes";
    }
    if (chosen.two_processes && contexts_given && chosen.contexts != 2) {
        return "two processes have two contexts";
    }
    if (!chosen.cpus.empty() && chosen.cpus.size() != 2) {
        return "--pin takes two CPU numbers: source,sink";
    }
    return {};
}

} // namespace

settings parse_settings(int argc, char** argv)
{
    settings chosen;
    double scale = 1.0;
    CLI::App app("Makes one measurement on the libzmq.so.5 it loads; prints one JSON line");
    std::map<dimension, int> extents;

    add_cell_options(app, chosen.what);
    add_many_options(app, chosen, extents);
    app.add_option("--count", chosen.count, "Timed messages or round trips; 0 = derived");
    app.add_option("--scale", scale, "Factor on the derived count")->check(CLI::PositiveNumber);
    app.add_option("--warm-up", chosen.warm_up, "Untimed messages first; 0 = a tenth of count");
    app.add_option("--hwm", chosen.hwm, "Send and receive high-water mark, 0 = none")
        ->check(CLI::NonNegativeNumber);
    auto* contexts = app.add_option("--contexts", chosen.contexts, "1 = both sides share a context")
                         ->check(CLI::Range(1, 2));
    app.add_flag("--counts", chosen.shows_counts,
                 "Write what zlink has counted for each socket to the standard error output");
    app.add_flag("--two-processes", chosen.two_processes, "Run the sides in two processes");
    app.add_option("--pin", chosen.cpus, "CPUs of the source's and the sink's thread, e.g. 0,1")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber);
    app.add_option("--timeout-s", chosen.timeout_s, "Seconds after which the run counts as stuck")
        ->check(CLI::PositiveNumber);
    app.add_flag("--identify", chosen.identify, "Only print version and path of the library");
    app.add_option("--control-fd", chosen.control_fd)->group("");
    app.add_option("--ipc-directory", chosen.ipc_directory)->group("");

    try {
        app.parse(argc, argv);
        for (const dimension each : dimensions_of(chosen.what.pattern)) {
            chosen.what.extents.push_back(extents[each]);
        }
        const std::string complaint = contradiction(chosen, contexts->count() > 0);
        if (!complaint.empty()) {
            throw CLI::ValidationError(complaint);
        }
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error) == 0 ? 0 : 2);
    }

    if (chosen.what.transport == transport::inproc) {
        chosen.contexts = 1;
    }
    if (chosen.count == 0) {
        constexpr double loaded_s = 2;
        const double whole = chosen.what.mode == mode::loaded
                                 ? chosen.per_second * loaded_s
                                 : static_cast<double>(default_count(chosen.what));
        const double scaled = whole * scale;
        chosen.count = static_cast<std::uint64_t>(std::max(1.0, std::round(scaled)));
    }
    if (chosen.warm_up == 0) {
        chosen.warm_up = std::max<std::uint64_t>(1, chosen.count / 10);
    }
    return chosen;
}

} // namespace zlink::bench::worker
