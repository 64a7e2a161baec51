// SPDX-License-Identifier: Apache-2.0
#include "worker/crowd.hpp"
#include "worker/endpoints.hpp"
#include "worker/links.hpp"
#include "worker/measurement.hpp"
#include "worker/peer_process.hpp"
#include "worker/run_guard.hpp"
#include "worker/zmq_handles.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <thread>

namespace zlink::bench::worker {

namespace {

/// Both sides as threads of this process.
std::string measure_with_threads(const settings& chosen, run_guard& guard)
{
    auto [mine, others] = control_channel::make_pair();
    const side measuring = measuring_side(chosen.what);
    std::optional<context> shared;
    if (chosen.contexts == 1) {
        shared.emplace(chosen.what.io_threads);
    }
    const auto run = [&chosen, &shared](side which, control_channel& control) {
        if (shared) {
            return run_side(chosen, which, *shared, control);
        }
        const context own(chosen.what.io_threads);
        return run_side(chosen, which, own, control);
    };
    guard.watch(-1, -1);
    std::thread peer([&, &control = others] {
        try {
            run(other(measuring), control);
        } catch (const std::exception& error) {
            guard.fail("error", error.what());
        }
    });
    side_report report;
    peer_report peer_numbers;
    try {
        report = run(measuring, mine);
        peer_numbers = peer_report::receive(mine);
    } catch (const std::exception& error) {
        // The peer may be stuck for good, so its thread cannot be joined.
        guard.fail("error", error.what());
    }
    peer.join();
    shared.reset();
    return result_line(chosen, std::move(report), peer_numbers);
}

/// The measuring side in this process, the other one in a second process.
std::string measure_with_processes(const settings& chosen, char** argv, run_guard& guard)
{
    auto [mine, others] = control_channel::make_pair();
    const peer_process peer = start_peer(chosen, argv, others);
    // Only the peer may hold its end, so that its death can be noticed here.
    {
        const control_channel closed = std::move(others);
    }
    guard.watch(peer.id, peer.output);
    side_report report;
    {
        const context own(chosen.what.io_threads);
        report = run_side(chosen, measuring_side(chosen.what), own, mine);
    }
    const peer_report peer_numbers = peer_report::receive(mine);
    join_peer(peer);
    return result_line(chosen, std::move(report), peer_numbers);
}

/// The other process of measure_with_processes().
int run_as_peer(const settings& chosen)
{
    try {
        control_channel control(chosen.control_fd);
        const context own(chosen.what.io_threads);
        run_side(chosen, other(measuring_side(chosen.what)), own, control);
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 1;
    }
    std::puts("ok");
    return 0;
}

int measure(settings& chosen, char** argv)
{
    if (chosen.shows_counts) {
        show_counts_of_sockets();
    }
    run_guard guard(chosen);
    try {
        require_transport(chosen.what.transport);
        if (has_many_connections(chosen.what.pattern)) {
            guard.succeed(result_line(chosen, measure_crowd(chosen, guard)));
            return 0;
        }
        require_socket_types(chosen);
        guard.succeed(chosen.two_processes ? measure_with_processes(chosen, argv, guard)
                                           : measure_with_threads(chosen, guard));
    } catch (const unsupported& error) {
        guard.fail("skipped", error.what());
    } catch (const std::exception& error) {
        guard.fail("error", error.what());
    }
    return 0;
}

} // namespace

} // namespace zlink::bench::worker

int main(int argc, char** argv)
{
    using namespace zlink::bench::worker;
    settings chosen = parse_settings(argc, argv);
    if (chosen.identify) {
        std::puts(identity_line().c_str());
        return 0;
    }
    if (chosen.control_fd != -1) {
        return run_as_peer(chosen);
    }
    return measure(chosen, argv);
}
