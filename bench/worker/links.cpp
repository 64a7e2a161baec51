// SPDX-License-Identifier: Apache-2.0
#include "worker/links.hpp"

#include "worker/endpoints.hpp"
#include "worker/security.hpp"

#define ZMQ_BUILD_DRAFT_API

#include <fmt/format.h>
#include <zmq.h>

#include <cerrno>
#include <vector>

namespace zlink::bench::worker {

namespace {

/// A connection between two sockets. The sender is the source for the first link of a cell, and the
/// sink for the second.
struct link_plan {
    int sender_type;
    int receiver_type;
    bool sender_binds;
};

bool is_one_way(pattern value)
{
    return value == pattern::pub_sub || value == pattern::push_pull ||
           value == pattern::scatter_gather;
}

bool routers_on_both_sides(pattern value)
{
    return value == pattern::router_router || value == pattern::router_router_poll;
}

link_plan plan_for(pattern value)
{
    switch (value) {
    case pattern::pub_sub:
        return {ZMQ_PUB, ZMQ_SUB, true};
    case pattern::push_pull:
        return {ZMQ_PUSH, ZMQ_PULL, true};
    case pattern::dealer_dealer:
        return {ZMQ_DEALER, ZMQ_DEALER, false};
    case pattern::dealer_router:
        return {ZMQ_DEALER, ZMQ_ROUTER, false};
    case pattern::router_router:
    case pattern::router_router_poll:
        return {ZMQ_ROUTER, ZMQ_ROUTER, false};
    case pattern::req_rep:
        return {ZMQ_REQ, ZMQ_REP, false};
    case pattern::stream:
        return {ZMQ_STREAM, ZMQ_STREAM, false};
    case pattern::client_server:
        return {ZMQ_CLIENT, ZMQ_SERVER, false};
    case pattern::scatter_gather:
        return {ZMQ_SCATTER, ZMQ_GATHER, true};
    default: // pair; many connections are not made here
        break;
    }
    return {ZMQ_PAIR, ZMQ_PAIR, false};
}

// Of 8 bytes, which message_port compares in one step.
std::string routing_id(side value)
{
    return value == side::source ? "source-1" : "the-sink";
}

void set_options(socket& target, int type, const settings& chosen, side mine)
{
    target.set(ZMQ_SNDHWM, chosen.hwm);
    target.set(ZMQ_RCVHWM, chosen.hwm);
    if (type == ZMQ_PUB) {
        // Without this PUB drops what exceeds the high-water mark, and there is nothing to compare.
        target.set(ZMQ_XPUB_NODROP, 1);
    }
    if (type == ZMQ_SUB) {
        target.set(ZMQ_SUBSCRIBE, std::string_view());
    }
    if (type == ZMQ_ROUTER) {
        target.set(ZMQ_ROUTER_MANDATORY, 1);
    }
    if (routers_on_both_sides(chosen.what.pattern)) {
        target.set(ZMQ_ROUTING_ID, routing_id(mine));
    }
}

std::size_t link_count(const cell& what)
{
    return is_one_way(what.pattern) && is_round_trip(what) ? 2 : 1;
}

side sender_of(std::size_t link)
{
    return link == 0 ? side::source : side::sink;
}

std::deque<socket> open_sockets(const settings& chosen, side mine, const context& owner,
                                control_channel& control)
{
    std::deque<socket> sockets;
    const link_plan plan = plan_for(chosen.what.pattern);
    for (std::size_t link = 0; link < link_count(chosen.what); ++link) {
        const bool sender = sender_of(link) == mine;
        const int type = sender ? plan.sender_type : plan.receiver_type;
        socket& added = sockets.emplace_back(owner, type);
        set_options(added, type, chosen, mine);
        if (sender == plan.sender_binds) {
            secure_server(added, chosen.what);
            added.bind(endpoint_to_bind(chosen.what.transport, chosen.ipc_directory,
                                        fmt::format("link-{}", link)));
            control.send(added.last_endpoint());
        } else {
            secure_client(added, chosen.what);
            added.connect(control.receive());
        }
    }
    return sockets;
}

addressing addressing_for(const cell& what, side mine)
{
    switch (what.pattern) {
    case pattern::router_router:
    case pattern::router_router_poll:
        return addressing::frame;
    case pattern::dealer_router:
        return mine == side::sink ? addressing::frame : addressing::none;
    case pattern::stream:
        return addressing::stream;
    case pattern::client_server:
        return mine == side::sink && is_round_trip(what) ? addressing::number : addressing::none;
    default:
        return addressing::none;
    }
}

port_format format_for(const settings& chosen, side mine)
{
    const bool symmetric = routers_on_both_sides(chosen.what.pattern);
    port_format format;
    format.size_bytes = chosen.what.size_bytes;
    format.api = chosen.what.api;
    format.peers = addressing_for(chosen.what, mine);
    format.poll_before_receive = chosen.what.pattern == pattern::router_router_poll;
    format.peer_id = symmetric ? routing_id(other(mine)) : std::string();
    return format;
}

/// Sends probes until the other side has confirmed one.
void announce(const socket& sender, const settings& chosen, control_channel& control)
{
    constexpr int pause_ms = 1;
    const std::string id = routing_id(side::sink);
    const bool addressed = routers_on_both_sides(chosen.what.pattern);
    std::vector<char> body(chosen.what.size_bytes, '\xff');
    do {
        if (addressed && zmq_send(sender.handle(), id.data(), id.size(), ZMQ_SNDMORE) == -1) {
            if (zmq_errno() != EHOSTUNREACH) {
                throw_zmq_error("zmq_send");
            }
            continue;
        }
        checked(zmq_send(sender.handle(), body.data(), body.size(), 0), "zmq_send");
    } while (!control.wait_ms(pause_ms));
    control.expect("link up");
}

} // namespace

void require_socket_types(const settings& chosen)
{
    // A library without the draft API may have the types all the same, but connects them within a
    // process only, and cannot answer a CLIENT.
    const bool draft = chosen.what.pattern == pattern::client_server ||
                       chosen.what.pattern == pattern::scatter_gather;
    const bool works_without =
        chosen.what.transport == transport::inproc &&
        (chosen.what.pattern != pattern::client_server || !is_round_trip(chosen.what));
    if (draft && !works_without && zmq_has("draft") != 1) {
        throw unsupported("the library has no draft API");
    }
    const context owner(chosen.what.io_threads);
    const link_plan plan = plan_for(chosen.what.pattern);
    const socket sender(owner, plan.sender_type);
    const socket receiver(owner, plan.receiver_type);
}

links::links(const settings& chosen, side mine, const context& owner, control_channel& control)
    : sockets_(open_sockets(chosen, mine, owner, control)),
      port_((mine == side::source ? sockets_.front() : sockets_.back()).handle(),
            (mine == side::source ? sockets_.back() : sockets_.front()).handle(),
            format_for(chosen, mine))
{
    if (chosen.what.pattern == pattern::stream) {
        port_.meet_peer();
    }
    // The other patterns block until there is a peer, and lose nothing.
    if (chosen.what.pattern != pattern::pub_sub && !routers_on_both_sides(chosen.what.pattern)) {
        return;
    }
    for (std::size_t link = 0; link < sockets_.size(); ++link) {
        if (sender_of(link) == mine) {
            announce(sockets_[link], chosen, control);
        } else {
            port_.receive_expected(probe_sequence);
            control.send("link up");
        }
    }
}

} // namespace zlink::bench::worker
