// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"

#include <algorithm>
#include <array>
#include <zmq.h>

namespace zlink::sockets {
namespace {

using core::announced;
using core::message_form;
using engine::kept_commands;

constexpr std::array rows{
    core::pattern_row{{.number = ZMQ_PAIR}, make_pair},
    core::pattern_row{{.number = ZMQ_PUB,
                       .keeps = kept_commands::subscriptions,
                       .conflates_sent = true,
                       .connects_once = true,
                       .fans_out = true},
                      make_pub},
    core::pattern_row{{.number = ZMQ_SUB,
                       .announces = announced::subscriptions,
                       .conflates_received = true,
                       .lingers = false,
                       .default_linger_ms = 0,
                       .connects_once = true},
                      make_sub},
    core::pattern_row{{.number = ZMQ_REQ,
                       .receives = message_form::reply,
                       .connects_once = true,
                       .says_hello = true,
                       .hears_hiccup = true,
                       .marks_notices = true},
                      make_req},
    core::pattern_row{{.number = ZMQ_REP,
                       .receives = message_form::request,
                       .says_hello = true,
                       .hears_disconnect = true,
                       .marks_notices = true,
                       .answers = true,
                       .may_authenticate = true},
                      make_rep},
    core::pattern_row{{.number = ZMQ_DEALER,
                       .conflates_sent = true,
                       .conflates_received = true,
                       .connects_once = true,
                       .says_hello = true,
                       .hears_hiccup = true},
                      make_dealer},
    core::pattern_row{{.number = ZMQ_ROUTER,
                       .says_hello = true,
                       .hears_disconnect = true,
                       .has_router_notify = true,
                       .may_authenticate = true},
                      make_router},
    core::pattern_row{{.number = ZMQ_PULL, .conflates_received = true}, make_pull},
    core::pattern_row{{.number = ZMQ_PUSH, .conflates_sent = true}, make_push},
    core::pattern_row{{.number = ZMQ_XPUB, .keeps = kept_commands::subscriptions, .fans_out = true},
                      make_xpub},
    core::pattern_row{
        {.number = ZMQ_XSUB, .announces = announced::subscriptions, .default_linger_ms = 0},
        make_xsub},
    core::pattern_row{{.number = ZMQ_DGRAM,
                       .datagrams = core::bound_datagrams,
                       .head = core::datagram_head::address,
                       .datagrams_only = true},
                      make_dgram},
    core::pattern_row{{.number = ZMQ_STREAM}, make_stream},
    core::pattern_row{
        {.number = ZMQ_SERVER, .thread_safe = true, .says_hello = true, .hears_disconnect = true},
        make_server},
    core::pattern_row{
        {.number = ZMQ_CLIENT, .thread_safe = true, .says_hello = true, .hears_hiccup = true},
        make_client},
    core::pattern_row{{.number = ZMQ_RADIO,
                       .thread_safe = true,
                       .keeps = kept_commands::groups,
                       .datagrams = core::connected_datagrams,
                       .fans_out = true},
                      make_radio},
    core::pattern_row{{.number = ZMQ_DISH,
                       .thread_safe = true,
                       .announces = announced::groups,
                       .receives = message_form::group,
                       .default_linger_ms = 0,
                       .datagrams = core::bound_datagrams},
                      make_dish},
    core::pattern_row{{.number = ZMQ_GATHER, .thread_safe = true}, make_gather},
    core::pattern_row{{.number = ZMQ_SCATTER, .thread_safe = true}, make_scatter},
    core::pattern_row{{.number = ZMQ_PEER,
                       .thread_safe = true,
                       .connects_to_peers = true,
                       .says_hello = true,
                       .hears_disconnect = true,
                       .hears_hiccup = true},
                      make_peer},
    core::pattern_row{{.number = ZMQ_CHANNEL, .thread_safe = true}, make_channel},
};

} // namespace

std::span<const core::pattern_row> all_patterns() noexcept
{
    return rows;
}

const core::socket_type_traits& traits_of(int type) noexcept
{
    const auto row = std::ranges::find(
        rows, type, [](const core::pattern_row& each) { return each.traits.number; });
    return row != rows.end() ? row->traits : core::plain_type;
}

} // namespace zlink::sockets
