// SPDX-License-Identifier: Apache-2.0
#include "common/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zlink::bench {

namespace {

template <class Value>
std::string_view name_in(const std::map<std::string, Value>& names, Value value)
{
    const auto found = std::find_if(names.begin(), names.end(),
                                    [value](const auto& entry) { return entry.second == value; });
    return found == names.end() ? std::string_view("unknown") : std::string_view(found->first);
}

/// Work of one message relative to PAIR: routing ids are frames of their own, polls are calls.
double pattern_factor(pattern value)
{
    switch (value) {
    case pattern::dealer_router:
        return 1.5;
    case pattern::stream:
    case pattern::router_router:
        return 2.0;
    // With many connections a run is meant to take a second or more, not to be short.
    case pattern::to_many_router:
    case pattern::from_many_dealer:
        return 0.6;
    case pattern::to_many_push:
    case pattern::to_many_pub:
    case pattern::from_many_push:
    case pattern::forwarder:
        return 0.3;
    case pattern::router_router_poll:
        return 2.5;
    default:
        return 1.0;
    }
}

/// Many connections have less under way on each at a time, so that each message costs more.
double crowd_factor(const cell& what)
{
    const int parties = party_count(what);
    if (parties < 100 || what.pattern == pattern::to_many_pub) {
        return 1.0;
    }
    return parties < 1000 ? 2.0 : 4.0;
}

double expected_ns(const cell& what)
{
    const bool local = what.transport == transport::inproc;
    const auto size = static_cast<double>(what.size_bytes);
    if (what.pattern == pattern::broker) {
        // Four hops, of which some overlap as soon as requests do.
        const double under_way =
            double(extent(what, dimension::clients)) * extent(what, dimension::window);
        return std::max(120'000.0 / under_way, 3'000.0) + 4.0 * size * (local ? 0.3 : 0.75);
    }
    if (is_round_trip(what)) {
        return (local ? 20'000.0 : 60'000.0) + 2.0 * size * (local ? 0.3 : 0.75);
    }
    const bool is_sealed = what.mechanism == mechanism::curve;
    return pattern_factor(what.pattern) * crowd_factor(what) * (is_sealed ? 2'500.0 : 1'000.0) +
           size * (local       ? 0.3
                   : is_sealed ? 2.5
                               : 0.75);
}

} // namespace

const std::map<std::string, pattern>& pattern_names()
{
    static const std::map<std::string, pattern> names{
        {"pair", pattern::pair},
        {"pub_sub", pattern::pub_sub},
        {"push_pull", pattern::push_pull},
        {"dealer_dealer", pattern::dealer_dealer},
        {"dealer_router", pattern::dealer_router},
        {"router_router", pattern::router_router},
        {"router_router_poll", pattern::router_router_poll},
        {"req_rep", pattern::req_rep},
        {"stream", pattern::stream},
        {"client_server", pattern::client_server},
        {"scatter_gather", pattern::scatter_gather},
        {"to_many_router", pattern::to_many_router},
        {"to_many_push", pattern::to_many_push},
        {"to_many_pub", pattern::to_many_pub},
        {"from_many_push", pattern::from_many_push},
        {"from_many_dealer", pattern::from_many_dealer},
        {"broker", pattern::broker},
        {"forwarder", pattern::forwarder},
        {"connections", pattern::connections},
    };
    return names;
}

const std::map<std::string, transport>& transport_names()
{
    static const std::map<std::string, transport> names{
        {"tcp", transport::tcp}, {"ipc", transport::ipc}, {"inproc", transport::inproc},
        {"ws", transport::ws},   {"tls", transport::tls}, {"wss", transport::wss}};
    return names;
}

const std::map<std::string, mode>& mode_names()
{
    static const std::map<std::string, mode> names{
        {"throughput", mode::throughput}, {"latency", mode::latency}, {"loaded", mode::loaded}};
    return names;
}

const std::map<std::string, api>& api_names()
{
    static const std::map<std::string, api> names{{"buffer", api::buffer}, {"msg", api::msg}};
    return names;
}

const std::map<std::string, mechanism>& mechanism_names()
{
    static const std::map<std::string, mechanism> names{{"null", mechanism::null},
                                                        {"curve", mechanism::curve}};
    return names;
}

const std::map<std::string, dimension>& dimension_names()
{
    static const std::map<std::string, dimension> names{
        {"peers", dimension::peers},           {"threads", dimension::threads},
        {"sockets", dimension::sockets},       {"clients", dimension::clients},
        {"workers", dimension::workers},       {"window", dimension::window},
        {"publishers", dimension::publishers}, {"subscribers", dimension::subscribers}};
    return names;
}

std::string_view name(pattern value)
{
    return name_in(pattern_names(), value);
}

std::string_view name(transport value)
{
    return name_in(transport_names(), value);
}

std::string_view name(mode value)
{
    return name_in(mode_names(), value);
}

std::string_view name(api value)
{
    return name_in(api_names(), value);
}

std::string_view name(mechanism value)
{
    return name_in(mechanism_names(), value);
}

std::string_view name(dimension value)
{
    return name_in(dimension_names(), value);
}

bool has_many_connections(pattern value)
{
    return !dimensions_of(value).empty();
}

const std::vector<dimension>& dimensions_of(pattern value)
{
    static const std::vector<dimension> none;
    static const std::vector<dimension> of_one_side{dimension::peers};
    static const std::vector<dimension> of_senders{dimension::threads, dimension::sockets};
    static const std::vector<dimension> of_broker{dimension::clients, dimension::workers,
                                                  dimension::window};
    static const std::vector<dimension> of_forwarder{dimension::publishers, dimension::subscribers};
    switch (value) {
    case pattern::to_many_router:
    case pattern::to_many_push:
    case pattern::to_many_pub:
    case pattern::connections:
        return of_one_side;
    case pattern::from_many_push:
    case pattern::from_many_dealer:
        return of_senders;
    case pattern::broker:
        return of_broker;
    case pattern::forwarder:
        return of_forwarder;
    default:
        return none;
    }
}

int extent(const cell& what, dimension wanted)
{
    const std::vector<dimension>& all = dimensions_of(what.pattern);
    const auto found = std::find(all.begin(), all.end(), wanted);
    const auto index = static_cast<std::size_t>(found - all.begin());
    return index < what.extents.size() ? what.extents[index] : 1;
}

std::string label(const cell& what)
{
    std::string text(name(what.pattern));
    if (!what.extents.empty()) {
        text += fmt::format(" {}", fmt::join(what.extents, "x"));
    }
    if (what.io_threads != 1) {
        text += fmt::format(", {} I/O threads", what.io_threads);
    }
    if (what.api != api::buffer) {
        text += fmt::format(", {}", name(what.api));
    }
    if (what.mechanism != mechanism::null) {
        text += fmt::format(", {}", name(what.mechanism));
    }
    return text;
}

int party_count(const cell& what)
{
    switch (what.pattern) {
    case pattern::broker:
        return extent(what, dimension::clients);
    case pattern::forwarder:
        return extent(what, dimension::subscribers);
    default:
        return extent(what, dimension::peers) * extent(what, dimension::threads) *
               extent(what, dimension::sockets);
    }
}

bool same_but_for_transport(const cell& left, cell right)
{
    right.transport = left.transport;
    return left == right;
}

bool has_tls(transport value)
{
    return value == transport::tls || value == transport::wss;
}

bool exists(const cell& what)
{
    if (what.mechanism != mechanism::null &&
        (what.transport == transport::inproc || what.pattern == pattern::stream)) {
        return false;
    }
    if (!has_many_connections(what.pattern)) {
        return what.mode != mode::loaded &&
               (what.pattern != pattern::stream || what.transport == transport::tcp ||
                what.transport == transport::tls);
    }
    switch (what.mode) {
    case mode::throughput:
        return true;
    case mode::latency:
        return what.pattern == pattern::broker;
    case mode::loaded:
        // A load does not wait for answers, so there is no window.
        return what.pattern != pattern::connections;
    }
    return false;
}

bool is_timed(const cell& what)
{
    return has_many_connections(what.pattern) && what.mode != mode::throughput;
}

bool is_round_trip(const cell& what)
{
    return what.mode == mode::latency || what.pattern == pattern::req_rep;
}

std::uint64_t default_count(const cell& what)
{
    if (what.pattern == pattern::connections) {
        return static_cast<std::uint64_t>(party_count(what));
    }
    const double count = std::max(1e9 / expected_ns(what), 100.0);
    const double step = std::pow(10.0, std::floor(std::log10(count)) - 1.0);
    return static_cast<std::uint64_t>(std::round(count / step) * step);
}

} // namespace zlink::bench
