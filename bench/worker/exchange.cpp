// SPDX-License-Identifier: Apache-2.0
#include "worker/exchange.hpp"

#include "worker/links.hpp"
#include "worker/zmq_handles.hpp"

namespace zlink::bench::worker {

namespace {

/// Takes time and CPU time from its construction to finish().
class stopwatch {
public:
    stopwatch() : cpu_(cpu_time::now()), start_ns_(now_ns()) {}

    void finish(side_report& report) const
    {
        report.elapsed_ns = now_ns() - start_ns_;
        report.cpu = cpu_time::now() - cpu_;
    }

private:
    cpu_time cpu_;
    std::int64_t start_ns_;
};

/// Receives the message with number 0, after any probes that were still on their way.
void receive_first(message_port& port)
{
    std::uint64_t sequence = port.receive();
    while (sequence == probe_sequence) {
        sequence = port.receive();
    }
    if (sequence != 0) {
        throw failure("the first message is not the first one sent");
    }
}

side_report stream_out(const settings& chosen, message_port& port, control_channel& control)
{
    side_report report;
    const std::uint64_t end = chosen.warm_up + chosen.count;
    for (std::uint64_t sequence = 0; sequence < chosen.warm_up; ++sequence) {
        port.send(sequence);
    }
    control.expect("go");
    const stopwatch watch;
    for (std::uint64_t sequence = chosen.warm_up; sequence < end; ++sequence) {
        port.send(sequence);
    }
    control.expect("done");
    watch.finish(report);
    return report;
}

side_report stream_in(const settings& chosen, message_port& port, control_channel& control)
{
    side_report report;
    const std::uint64_t end = chosen.warm_up + chosen.count;
    receive_first(port);
    for (std::uint64_t sequence = 1; sequence < chosen.warm_up; ++sequence) {
        port.receive_expected(sequence);
    }
    const stopwatch watch;
    control.send("go");
    for (std::uint64_t sequence = chosen.warm_up; sequence < end; ++sequence) {
        port.receive_expected(sequence);
    }
    watch.finish(report);
    control.send("done");
    return report;
}

side_report ping(const settings& chosen, message_port& port, control_channel& control)
{
    side_report report;
    const bool each = chosen.what.mode == mode::latency;
    // Written once beforehand, so that no page is touched for the first time while timing.
    report.round_trips_ns.assign(each ? chosen.count : 0, -1);
    port.send(0);
    receive_first(port);
    for (std::uint64_t sequence = 1; sequence < chosen.warm_up; ++sequence) {
        port.send(sequence);
        port.receive_expected(sequence);
    }
    control.expect("go");
    const stopwatch watch;
    for (std::uint64_t trip = 0; trip < chosen.count; ++trip) {
        const std::int64_t start_ns = each ? now_ns() : 0;
        port.send(chosen.warm_up + trip);
        port.receive_expected(chosen.warm_up + trip);
        if (each) {
            report.round_trips_ns[trip] = now_ns() - start_ns;
        }
    }
    watch.finish(report);
    control.send("done");
    return report;
}

side_report pong(const settings& chosen, message_port& port, control_channel& control)
{
    side_report report;
    const std::uint64_t end = chosen.warm_up + chosen.count;
    receive_first(port);
    port.send(0);
    for (std::uint64_t sequence = 1; sequence < chosen.warm_up; ++sequence) {
        port.receive_expected(sequence);
        port.send(sequence);
    }
    const stopwatch watch;
    control.send("go");
    for (std::uint64_t sequence = chosen.warm_up; sequence < end; ++sequence) {
        port.receive_expected(sequence);
        port.send(sequence);
    }
    control.expect("done");
    watch.finish(report);
    return report;
}

} // namespace

side_report run_exchange(const settings& chosen, side mine, message_port& port,
                         control_channel& control)
{
    if (is_round_trip(chosen.what)) {
        return mine == side::source ? ping(chosen, port, control) : pong(chosen, port, control);
    }
    return mine == side::source ? stream_out(chosen, port, control)
                                : stream_in(chosen, port, control);
}

} // namespace zlink::bench::worker
