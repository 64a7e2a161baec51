// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"
#include "base/system/no_cancellation.hpp"

#include <cstring>
#include <string_view>
#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

template <class Operation>
int on_endpoint(void* handle, const char* endpoint, Operation operation)
{
    const zlink::base::no_cancellation whole;
    return with_socket(handle, [&](core::socket& socket) {
        // An empty endpoint is malformed too: the socket refuses it when its context is still
        // there.
        const int error = operation(socket, endpoint ? endpoint : "");
        socket.tell_waiting();
        return error;
    });
}

template <class Operation>
int on_group(void* handle, const char* group, Operation operation)
{
    const zlink::base::no_cancellation whole;
    return with_usable_socket(handle, [&](core::socket& socket) {
        if (!group || std::strlen(group) > ZMQ_GROUP_MAX_LENGTH)
            return EINVAL;
        return operation(socket, group);
    });
}

int close_shared(void* handle)
{
    zlink::core::socket_gate* const gate = sockets().gate(handle);
    std::shared_ptr<socket_object> object;
    std::shared_ptr<void> owner;
    if (gate) {
        const core::socket_gate::turn mine(*gate);
        object = sockets().remove(handle);
        if (object) {
            try {
                object->context->close_socket(object->socket);
            } catch (...) {
                // As in zmq_close.
            }
            owner = gate->close();
        }
    }
    return object || sockets().forget(handle) ? 0 : fail(ENOTSOCK);
}

} // namespace

extern "C" {

void* zmq_socket(void* context, int type)
{
    const zlink::base::no_cancellation whole;
    try {
        const auto owner = contexts().share(context);
        if (!owner) {
            errno = no_context(context);
            return nullptr;
        }
        int error = 0;
        auto opened = owner->open_socket(type, error);
        if (!opened) {
            errno = error;
            return nullptr;
        }
        try {
            const auto object = std::make_shared<socket_object>(opened, owner);
            if (void* handle = sockets().add(object, *opened, opened->thread_safe())) {
                if (is_shared(handle)) {
                    core::socket_gate& gate = *sockets().gate(handle);
                    const core::socket_gate::turn mine(gate); // the socket before it may be closing
                    gate.open(object);
                    opened->set_gate(gate);
                }
                return handle;
            }
        } catch (...) {
            owner->close_socket(opened); // the end of the context would wait for it
            throw;
        }
        owner->close_socket(opened);
        errno = EMFILE;
    } catch (...) {
        errno = current_error();
    }
    return nullptr;
}

int zmq_close(void* socket)
{
    const zlink::base::no_cancellation whole;
    if (is_shared(socket))
        return close_shared(socket);
    const auto object = sockets().remove(socket);
    if (!object)
        return sockets().forget(socket) ? 0 : fail(ENOTSOCK);
    if (object->socket->defer_close(object))
        return 0;
    try {
        object->context->close_socket(object->socket);
    } catch (...) {
        // Memory ran out while closing: what could not be told to the I/O threads ends with them.
    }
    return 0;
}

int zmq_bind(void* socket, const char* addr)
{
    return on_endpoint(socket, addr,
                       [](core::socket& s, const char* text) { return s.bind(text); });
}

int zmq_connect(void* socket, const char* addr)
{
    return on_endpoint(socket, addr,
                       [](core::socket& s, const char* text) { return s.connect(text); });
}

int zmq_unbind(void* socket, const char* addr)
{
    const int failed =
        on_endpoint(socket, addr, [](core::socket& s, const char* text) { return s.unbind(text); });
    return unless_inherited(sockets(), socket, failed);
}

int zmq_disconnect(void* socket, const char* addr)
{
    const int failed = on_endpoint(
        socket, addr, [](core::socket& s, const char* text) { return s.disconnect(text); });
    return unless_inherited(sockets(), socket, failed);
}

int zmq_setsockopt(void* socket, int option, const void* optval, size_t optvallen)
{
    const zlink::base::no_cancellation whole;
    const int failed = with_socket(socket, [&](core::socket& s) {
        const int error = s.set_option(option, optval, optvallen);
        s.tell_waiting();
        return error;
    });
    // Set by who is about to close it.
    return option == ZMQ_LINGER ? unless_inherited(sockets(), socket, failed) : failed;
}

int zmq_getsockopt(void* socket, int option, void* optval, size_t* optvallen)
{
    return with_socket(socket,
                       [&](core::socket& s) { return s.get_option(option, optval, optvallen); });
}

int zmq_socket_get_peer_state(void* socket, const void* routing_id, size_t routing_id_size)
{
    const zlink::base::no_cancellation whole;
    int events = 0;
    if (with_usable_socket(socket, [&](core::socket& s) {
            if (!routing_id && routing_id_size)
                return EINVAL;
            return s.peer_events({static_cast<const char*>(routing_id), routing_id_size}, events);
        }))
        return -1;
    return events;
}

uint32_t zmq_connect_peer(void* socket, const char* addr)
{
    std::uint32_t routing_id = 0;
    on_endpoint(socket, addr, [&](core::socket& s, const char* text) {
        return s.connect_peer(text, routing_id);
    });
    return routing_id;
}

int zmq_disconnect_peer(void* socket, uint32_t routing_id)
{
    const zlink::base::no_cancellation whole;
    const int failed = with_socket(socket, [&](core::socket& s) {
        const int error = s.disconnect_peer(routing_id);
        s.tell_waiting();
        return error;
    });
    return unless_inherited(sockets(), socket, failed);
}

int zmq_join(void* socket, const char* group)
{
    return on_group(socket, group, [](core::socket& s, std::string_view g) { return s.join(g); });
}

int zmq_leave(void* socket, const char* group)
{
    return on_group(socket, group, [](core::socket& s, std::string_view g) { return s.leave(g); });
}

} // extern "C"
