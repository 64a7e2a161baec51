// SPDX-License-Identifier: Apache-2.0
//
// The little that the demonstration needs around the C API.
#pragma once

#include <zmq.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace demo {

/// Throws std::runtime_error with the reason of the last failed call unless `fine`.
inline void check(bool fine, const char* what)
{
    if (!fine) {
        throw std::runtime_error(std::string(what) + ": " + zmq_strerror(zmq_errno()));
    }
}

/// A context that is terminated when it goes out of scope; waits for its sockets' linger time.
struct context_handle {
    void* raw = zmq_ctx_new();

    context_handle() = default;
    ~context_handle() { zmq_ctx_term(raw); }
    context_handle(const context_handle&) = delete;
    context_handle& operator=(const context_handle&) = delete;
};

/// A socket on which no call waits longer than `timeout_ms`; failures are exceptions.
class peer_socket {
public:
    peer_socket(void* context, int type, int timeout_ms) : raw_(zmq_socket(context, type))
    {
        check(raw_ != nullptr, "zmq_socket");
        set(ZMQ_SNDTIMEO, timeout_ms);
        set(ZMQ_RCVTIMEO, timeout_ms);
        set(ZMQ_LINGER, timeout_ms);
    }
    ~peer_socket() { zmq_close(raw_); }
    peer_socket(const peer_socket&) = delete;
    peer_socket& operator=(const peer_socket&) = delete;

    void set(int option, int value)
    {
        check(zmq_setsockopt(raw_, option, &value, sizeof value) == 0, "zmq_setsockopt");
    }
    void subscribe(std::string_view topic)
    {
        check(zmq_setsockopt(raw_, ZMQ_SUBSCRIBE, topic.data(), topic.size()) == 0, "subscribe");
    }
    // Returns the endpoint that others connect to.
    std::string open(bool bind, const std::string& endpoint)
    {
        check((bind ? zmq_bind : zmq_connect)(raw_, endpoint.c_str()) == 0, endpoint.c_str());
        char last[256] = {};
        std::size_t size = sizeof last;
        check(zmq_getsockopt(raw_, ZMQ_LAST_ENDPOINT, last, &size) == 0, "ZMQ_LAST_ENDPOINT");
        return last;
    }
    void send(std::string_view part, int flags = 0)
    {
        const int sent = zmq_send(raw_, part.data(), part.size(), flags);
        check(sent == static_cast<int>(part.size()), "zmq_send");
    }
    // Replaces `part`; returns whether more parts follow.
    bool receive(std::string& part)
    {
        zmq_msg_t message;
        zmq_msg_init(&message);
        const bool fine = zmq_msg_recv(&message, raw_, 0) >= 0;
        if (fine) {
            part.assign(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
        }
        const bool more = fine && zmq_msg_more(&message) != 0;
        zmq_msg_close(&message);
        check(fine, "zmq_msg_recv");
        return more;
    }

private:
    void* raw_;
};

} // namespace demo
