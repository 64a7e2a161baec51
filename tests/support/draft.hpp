// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef ZMQ_BUILD_DRAFT_API
#define ZMQ_BUILD_DRAFT_API
#endif

#include <zmq.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "support/fixture.hpp"

namespace zlink::test {

/// zmq_connect_peer, with what a link_in_use asks for.
inline std::uint32_t connect_peer(test_socket& socket, const std::string& address)
{
    link_in_use::configure(socket, link_side::connecting, address);
    return zmq_connect_peer(socket, address.c_str());
}

/// Owns a zmq_msg_t with what the draft types add to it.
class draft_message {
public:
    draft_message() { zmq_msg_init(&message_); }
    explicit draft_message(std::string_view body)
    {
        zmq_msg_init_buffer(&message_, body.data(), body.size());
    }
    ~draft_message() { zmq_msg_close(&message_); }
    draft_message(const draft_message&) = delete;
    draft_message& operator=(const draft_message&) = delete;

    operator zmq_msg_t*() { return &message_; }
    std::string body()
    {
        return {static_cast<const char*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
    }
    std::uint32_t routing_id() { return zmq_msg_routing_id(&message_); }
    std::string group() { return zmq_msg_group(&message_); }

private:
    zmq_msg_t message_;
};

/// Sends to a peer of a SERVER or PEER. @return what zmq_msg_send returned.
inline int send_to(void* socket, std::uint32_t routing_id, std::string_view body, int flags = 0)
{
    draft_message message(body);
    if (routing_id)
        zmq_msg_set_routing_id(message, routing_id);
    return zmq_msg_send(message, socket, flags);
}

/// Sends to a group. @return what zmq_msg_send returned.
inline int send_in(void* socket, const std::string& group, std::string_view body, int flags = 0)
{
    draft_message message(body);
    zmq_msg_set_group(message, group.c_str());
    return zmq_msg_send(message, socket, flags);
}

/// Receives; throws if that fails.
inline void receive(void* socket, draft_message& into, int flags = 0)
{
    if (zmq_msg_recv(into, socket, flags) < 0)
        throw call_failed("zmq_msg_recv");
}

} // namespace zlink::test
