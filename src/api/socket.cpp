// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"

#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

template <class Operation>
int on_endpoint(void* handle, const char* endpoint, Operation operation)
{
    return with_socket(handle, [&](core::socket& socket) {
        return endpoint ? operation(socket, endpoint) : EINVAL;
    });
}

} // namespace

extern "C" {

void* zmq_socket(void* context, int type)
{
    try {
        const auto owner = contexts().share(context);
        if (!owner) {
            errno = EFAULT;
            return nullptr;
        }
        int error = 0;
        auto opened = owner->open_socket(type, error);
        if (!opened) {
            errno = error;
            return nullptr;
        }
        auto object = std::make_shared<socket_object>(socket_object{opened, owner});
        if (void* handle = sockets().add(std::move(object)))
            return handle;
        owner->close_socket(opened);
        errno = EMFILE;
    } catch (...) {
        errno = ENOMEM;
    }
    return nullptr;
}

int zmq_close(void* socket)
{
    const auto object = sockets().remove(socket);
    if (!object)
        return fail(ENOTSOCK);
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
    return on_endpoint(socket, addr,
                       [](core::socket& s, const char* text) { return s.unbind(text); });
}

int zmq_disconnect(void* socket, const char* addr)
{
    return on_endpoint(socket, addr,
                       [](core::socket& s, const char* text) { return s.disconnect(text); });
}

int zmq_setsockopt(void* socket, int option, const void* optval, size_t optvallen)
{
    return with_socket(socket,
                       [&](core::socket& s) { return s.set_option(option, optval, optvallen); });
}

int zmq_getsockopt(void* socket, int option, void* optval, size_t* optvallen)
{
    return with_socket(socket, [&](core::socket& s) {
        return optval && optvallen ? s.get_option(option, optval, optvallen) : EINVAL;
    });
}

} // extern "C"
