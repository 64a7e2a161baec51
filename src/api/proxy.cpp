// SPDX-License-Identifier: Apache-2.0
#include "core/proxy.hpp"
#include "api/objects.hpp"

#include <zmq.h>

using namespace zlink::api;
namespace core = zlink::core;

namespace {

/// Null for null; `error` if it is the handle of no socket, or of one that many threads use.
core::socket* optional_socket(const void* handle, int& error) noexcept
{
    if (!handle)
        return nullptr;
    socket_object* const object = sockets().get(handle);
    if (!object)
        error = ENOTSOCK;
    else if (is_shared(handle))
        error = ENOTSUP; // a proxy takes no turns
    return object ? object->socket.get() : nullptr;
}

int run_proxy(void* frontend, void* backend, void* capture, void* control) noexcept
{
    if (!frontend || !backend)
        return fail(EFAULT);
    int error = 0;
    core::socket* const front = optional_socket(frontend, error);
    core::socket* const back = optional_socket(backend, error);
    core::socket* const copies = optional_socket(capture, error);
    core::socket* const commands = optional_socket(control, error);
    if (error)
        return fail(error);
    try {
        return result(core::proxy(*front, *back, copies, commands).run());
    } catch (...) {
        return fail(ENOMEM);
    }
}

} // namespace

extern "C" {

int zmq_proxy(void* frontend, void* backend, void* capture)
{
    return run_proxy(frontend, backend, capture, nullptr);
}

int zmq_proxy_steerable(void* frontend, void* backend, void* capture, void* control)
{
    return run_proxy(frontend, backend, capture, control);
}

int zmq_device(int, void* frontend, void* backend)
{
    return run_proxy(frontend, backend, nullptr, nullptr);
}

} // extern "C"
