// SPDX-License-Identifier: Apache-2.0
#include "common/cell.hpp"

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
    case pattern::router_router_poll:
        return 2.5;
    default:
        return 1.0;
    }
}

double expected_ns(const cell& what)
{
    const bool local = what.transport == transport::inproc;
    const auto size = static_cast<double>(what.size_bytes);
    if (is_round_trip(what)) {
        return (local ? 20'000.0 : 60'000.0) + 2.0 * size * (local ? 0.3 : 0.75);
    }
    return pattern_factor(what.pattern) * 1'000.0 + size * (local ? 0.3 : 0.75);
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
    };
    return names;
}

const std::map<std::string, transport>& transport_names()
{
    static const std::map<std::string, transport> names{
        {"tcp", transport::tcp}, {"ipc", transport::ipc}, {"inproc", transport::inproc}};
    return names;
}

const std::map<std::string, mode>& mode_names()
{
    static const std::map<std::string, mode> names{{"throughput", mode::throughput},
                                                   {"latency", mode::latency}};
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

bool exists(const cell& what)
{
    return what.pattern != pattern::stream || what.transport == transport::tcp;
}

bool is_round_trip(const cell& what)
{
    return what.mode == mode::latency || what.pattern == pattern::req_rep;
}

std::uint64_t default_count(const cell& what)
{
    const double count = std::max(1e9 / expected_ns(what), 100.0);
    const double step = std::pow(10.0, std::floor(std::log10(count)) - 1.0);
    return static_cast<std::uint64_t>(std::round(count / step) * step);
}

} // namespace zlink::bench
