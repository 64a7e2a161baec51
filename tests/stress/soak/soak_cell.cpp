// SPDX-License-Identifier: Apache-2.0
#include "soak_cell.hpp"

#include <zmq.h>

#include <algorithm>

namespace zlink::test {
namespace {

constexpr soak_pattern all_patterns[] = {
    soak_pattern::push_pull,      soak_pattern::pair,    soak_pattern::channel,
    soak_pattern::scatter_gather, soak_pattern::pub_sub, soak_pattern::xpub_xsub,
    soak_pattern::radio_dish,     soak_pattern::req_rep, soak_pattern::dealer_router,
    soak_pattern::client_server,  soak_pattern::stream,
};
constexpr soak_break all_breaks[] = {
    soak_break::calm,    soak_break::paused,   soak_break::leaving, soak_break::moving,
    soak_break::rebound, soak_break::replaced, soak_break::cut,
};
const char* const all_schemes[] = {"tcp", "ipc", "inproc", "tls", "ws", "wss"};
const char* const all_mechanisms[] = {"null", "plain", "curve"};

bool is_there(const std::string& scheme)
{
    if (scheme == "tcp" || scheme == "inproc")
        return true;
    if ((scheme == "tls" || scheme == "wss") && !ZLINK_HAS_TLS)
        return false;
    return zmq_has(scheme.c_str()) != 0;
}

bool is_draft(soak_pattern pattern)
{
    return is_thread_safe(pattern);
}

bool makes_sense(const soak_cell& cell)
{
    const bool is_inproc = cell.scheme == "inproc";
    const soak_shape shape = shape_of(cell.pattern);
    if (!is_there(cell.scheme) || (is_draft(cell.pattern) && zmq_has("draft") == 0))
        return false;
    // Within a process there is nobody to keep out.
    if (cell.mechanism != "null" && is_inproc)
        return false;
    if (cell.mechanism == "curve" && zmq_has("curve") == 0)
        return false;
    // Bytes as they come from a kernel have no mechanism. What is lost with a connection is a piece
    // of the stream, after which nothing can be counted.
    if (shape == soak_shape::bytes)
        return cell.scheme == "tcp" && cell.mechanism == "null" &&
               (cell.breaks == soak_break::calm || cell.breaks == soak_break::paused ||
                cell.breaks == soak_break::leaving);
    // These have one peer, and refuse the next one until the last one has gone.
    const bool has_one_peer =
        cell.pattern == soak_pattern::pair || cell.pattern == soak_pattern::channel;
    if (has_one_peer && (cell.breaks == soak_break::leaving || cell.breaks == soak_break::moving))
        return false;
    switch (cell.breaks) {
    case soak_break::calm:
    case soak_break::paused:
    case soak_break::moving:
        return true;
    case soak_break::leaving:
        return shape != soak_shape::published;
    case soak_break::rebound:
    case soak_break::cut:
        // Nobody connects again within a process.
        return !is_inproc;
    case soak_break::replaced:
        return !is_inproc || shape == soak_shape::published;
    }
    return false;
}

bool is_wanted(const std::vector<std::string>& wish, const std::string& name)
{
    return wish.empty() || std::find(wish.begin(), wish.end(), name) != wish.end();
}

} // namespace

const char* name_of(soak_pattern pattern)
{
    switch (pattern) {
    case soak_pattern::push_pull:
        return "push-pull";
    case soak_pattern::pair:
        return "pair";
    case soak_pattern::channel:
        return "channel";
    case soak_pattern::scatter_gather:
        return "scatter-gather";
    case soak_pattern::pub_sub:
        return "pub-sub";
    case soak_pattern::xpub_xsub:
        return "xpub-xsub";
    case soak_pattern::radio_dish:
        return "radio-dish";
    case soak_pattern::req_rep:
        return "req-rep";
    case soak_pattern::dealer_router:
        return "dealer-router";
    case soak_pattern::client_server:
        return "client-server";
    case soak_pattern::stream:
        return "stream";
    }
    return "?";
}

const char* name_of(soak_break what)
{
    switch (what) {
    case soak_break::calm:
        return "calm";
    case soak_break::paused:
        return "paused";
    case soak_break::leaving:
        return "leaving";
    case soak_break::moving:
        return "moving";
    case soak_break::rebound:
        return "rebound";
    case soak_break::replaced:
        return "replaced";
    case soak_break::cut:
        return "cut";
    }
    return "?";
}

soak_shape shape_of(soak_pattern pattern)
{
    switch (pattern) {
    case soak_pattern::push_pull:
    case soak_pattern::pair:
    case soak_pattern::channel:
    case soak_pattern::scatter_gather:
        return soak_shape::one_way;
    case soak_pattern::pub_sub:
    case soak_pattern::xpub_xsub:
    case soak_pattern::radio_dish:
        return soak_shape::published;
    case soak_pattern::req_rep:
    case soak_pattern::dealer_router:
    case soak_pattern::client_server:
        return soak_shape::answered;
    case soak_pattern::stream:
        return soak_shape::bytes;
    }
    return soak_shape::one_way;
}

bool is_thread_safe(soak_pattern pattern)
{
    return pattern == soak_pattern::channel || pattern == soak_pattern::scatter_gather ||
           pattern == soak_pattern::radio_dish || pattern == soak_pattern::client_server;
}

bool soak_cell::loses_nothing() const
{
    switch (breaks) {
    case soak_break::calm:
    case soak_break::paused:
    case soak_break::leaving:
        return true;
    case soak_break::moving:
        return shape_of(pattern) == soak_shape::one_way;
    case soak_break::rebound:
    case soak_break::replaced:
    case soak_break::cut:
        return false;
    }
    return true;
}

std::string soak_cell::description() const
{
    return scheme + ' ' + mechanism + ' ' + name_of(pattern) + ' ' + name_of(breaks);
}

std::vector<soak_cell> soak_cells(const soak_wish& wish)
{
    std::vector<soak_cell> cells;
    for (const char* const scheme : all_schemes)
        for (const char* const mechanism : all_mechanisms)
            for (const soak_pattern pattern : all_patterns)
                for (const soak_break breaks : all_breaks) {
                    const soak_cell cell{scheme, mechanism, pattern, breaks};
                    if (is_wanted(wish.schemes, scheme) && is_wanted(wish.mechanisms, mechanism) &&
                        is_wanted(wish.patterns, name_of(pattern)) &&
                        is_wanted(wish.breaks, name_of(breaks)) && makes_sense(cell))
                        cells.push_back(cell);
                }
    return cells;
}

} // namespace zlink::test
