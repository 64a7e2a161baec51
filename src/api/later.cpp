// SPDX-License-Identifier: Apache-2.0
// Functions of the C API that this version exports without serving them: each fails with ENOTSUP,
// so that programs which merely link to them run.
#include <cerrno>

#include <zmq.h>

namespace zlink::api {
namespace {

int not_served()
{
    errno = ENOTSUP;
    return -1;
}

int proxy_not_served(const void* frontend, const void* backend)
{
    errno = frontend == nullptr || backend == nullptr ? EFAULT : ENOTSUP;
    return -1;
}

} // namespace
} // namespace zlink::api

using zlink::api::not_served;
using zlink::api::proxy_not_served;

int zmq_proxy(void* frontend, void* backend, void*)
{
    return proxy_not_served(frontend, backend);
}

int zmq_proxy_steerable(void* frontend, void* backend, void*, void*)
{
    return proxy_not_served(frontend, backend);
}

int zmq_device(int, void* frontend, void* backend)
{
    return proxy_not_served(frontend, backend);
}

int zmq_socket_monitor(void*, const char*, int)
{
    return not_served();
}

int zmq_socket_monitor_versioned(void*, const char*, uint64_t, int, int)
{
    return not_served();
}

int zmq_socket_monitor_pipes_stats(void*)
{
    return not_served();
}

int zmq_curve_keypair(char*, char*)
{
    return not_served();
}

int zmq_curve_public(char*, const char*)
{
    return not_served();
}

int zmq_join(void*, const char*)
{
    return not_served();
}

int zmq_leave(void*, const char*)
{
    return not_served();
}

uint32_t zmq_connect_peer(void*, const char*)
{
    not_served();
    return 0;
}

int zmq_socket_get_peer_state(void*, const void*, size_t)
{
    return not_served();
}

void* zmq_poller_new()
{
    not_served();
    return nullptr;
}

int zmq_poller_destroy(void**)
{
    return not_served();
}

int zmq_poller_size(void*)
{
    return not_served();
}

int zmq_poller_add(void*, void*, void*, short)
{
    return not_served();
}

int zmq_poller_modify(void*, void*, short)
{
    return not_served();
}

int zmq_poller_remove(void*, void*)
{
    return not_served();
}

int zmq_poller_wait(void*, zmq_poller_event_t*, long)
{
    return not_served();
}

int zmq_poller_wait_all(void*, zmq_poller_event_t*, int, long)
{
    return not_served();
}

int zmq_poller_fd(void*, zmq_fd_t*)
{
    return not_served();
}

int zmq_poller_add_fd(void*, zmq_fd_t, void*, short)
{
    return not_served();
}

int zmq_poller_modify_fd(void*, zmq_fd_t, short)
{
    return not_served();
}

int zmq_poller_remove_fd(void*, zmq_fd_t)
{
    return not_served();
}

int zmq_ppoll(zmq_pollitem_t*, int, long, const void*)
{
    return not_served();
}
