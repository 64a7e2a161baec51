// SPDX-License-Identifier: Apache-2.0
#include "worker/settings.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace zlink::bench::worker {

namespace {

void add_cell_options(CLI::App& app, cell& what)
{
    app.add_option("--pattern", what.pattern, "Socket pattern")
        ->transform(CLI::CheckedTransformer(pattern_names()).description(""));
    app.add_option("--transport", what.transport, "Transport: tcp, ipc or inproc")
        ->transform(CLI::CheckedTransformer(transport_names()).description(""));
    app.add_option("--mode", what.mode, "throughput or latency")
        ->transform(CLI::CheckedTransformer(mode_names()).description(""));
    app.add_option("--size", what.size_bytes, "Message body in bytes, at least 8")
        ->check(CLI::Range(min_size_bytes, std::size_t{1} << 30));
}

/// Rules that concern more than one option.
std::string contradiction(const settings& chosen, bool contexts_given)
{
    if (!exists(chosen.what)) {
        return "stream is for tcp";
    }
    if (chosen.what.transport == transport::inproc && chosen.two_processes) {
        return "inproc does not work between two processes";
    }
    if (chosen.what.transport == transport::inproc && contexts_given && chosen.contexts != 1) {
        return "inproc needs a context shared by both sides: --contexts 1";
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
    const std::map<std::string, api> apis{{"buffer", api::buffer}, {"msg", api::msg}};

    add_cell_options(app, chosen.what);
    app.add_option("--count", chosen.count, "Timed messages or round trips; 0 = derived");
    app.add_option("--scale", scale, "Factor on the derived count")->check(CLI::PositiveNumber);
    app.add_option("--warm-up", chosen.warm_up, "Untimed messages first; 0 = a tenth of count");
    app.add_option("--hwm", chosen.hwm, "Send and receive high-water mark, 0 = none")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--io-threads", chosen.io_threads, "I/O threads of each context")
        ->check(CLI::NonNegativeNumber);
    auto* contexts = app.add_option("--contexts", chosen.contexts, "1 = both sides share a context")
                         ->check(CLI::Range(1, 2));
    app.add_flag("--two-processes", chosen.two_processes, "Run the sides in two processes");
    app.add_option("--api", chosen.api, "buffer (zmq_send, zmq_recv) or msg (zmq_msg_*)")
        ->transform(CLI::CheckedTransformer(apis).description(""));
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
        const double scaled = static_cast<double>(default_count(chosen.what)) * scale;
        chosen.count = static_cast<std::uint64_t>(std::max(1.0, std::round(scaled)));
    }
    if (chosen.warm_up == 0) {
        chosen.warm_up = std::max<std::uint64_t>(1, chosen.count / 10);
    }
    return chosen;
}

} // namespace zlink::bench::worker
