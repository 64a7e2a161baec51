// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/message_rules.hpp"

#include <cstdint>

namespace zlink::core {

/// What a connected peer is told of.
enum class announced : std::uint8_t {
    nothing,
    subscriptions, ///< by commands, or messages to peers older than ZMTP 3.1
    groups,        ///< by commands
};

/// Which form the messages of a peer have.
enum class message_form : std::uint8_t {
    any,
    reply,   ///< an envelope, which the socket takes off; any other message is refused
    request, ///< an envelope, which the socket takes off
    group,   ///< a group and one more part; any other message is refused
};

/// What a datagram has besides the body: the first of the two parts a message has in a pipe.
enum class datagram_head : std::uint8_t {
    group,  ///< in front of the body, see engine/codec/group_datagram.hpp
    address ///< not in it: where it goes to or comes from, as text; what comes ends with a NUL
};

/// One way of using datagrams: a bit each.
enum datagram_use : std::uint8_t { no_datagrams = 0, bound_datagrams = 1, connected_datagrams = 2 };

/// What there is to know of a socket type apart from its pattern: the data of its row in
/// sockets/patterns.cpp. By default it has nothing special.
struct socket_type_traits {
    int number = -1;          ///< ZMQ_PAIR, ZMQ_PUB, ...
    bool thread_safe = false; ///< many threads may use the socket at once

    // connections
    announced announces = announced::nothing;
    engine::kept_commands keeps = engine::kept_commands::none; ///< of what peers announce
    message_form receives = message_form::any;
    bool conflates_sent = false; ///< ZMQ_CONFLATE counts for what is sent
    bool conflates_received = false;
    bool lingers = true;            ///< false: what is left at the end means nothing to anybody
    int default_linger_ms = -1;     ///< unless the context says otherwise
    bool connects_once = false;     ///< a zmq_connect to where a connection goes already is ignored
    bool connects_to_peers = false; ///< zmq_connect_peer

    // messages about connections, see core/pipe/notices.hpp
    bool says_hello = false;
    bool hears_disconnect = false;
    bool hears_hiccup = false;
    bool has_router_notify = false;
    bool marks_notices = false; ///< as commands, for its pattern to tell them from messages

    // datagrams
    std::uint8_t datagrams = no_datagrams;
    datagram_head head = datagram_head::group;
    bool datagrams_only = false;

    bool fans_out = false;         ///< it sends each message to many peers
    bool answers = false;          ///< it must reply to each message before it can receive the next
    bool may_authenticate = false; ///< it can be a handler of ZAP, see zap_conversation
};

} // namespace zlink::core
