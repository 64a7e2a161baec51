// SPDX-License-Identifier: Apache-2.0
#include "core/poll.hpp"
#include "api/objects.hpp"

#include <zmq.h>

using namespace zlink::api;

extern "C" {

int zmq_poll(zmq_pollitem_t* items, int nitems, long timeout)
{
    if (nitems < 0)
        return fail(EINVAL);
    if (nitems > 0 && !items)
        return fail(EFAULT);
    try {
        zlink::core::poll_set set(static_cast<std::size_t>(nitems));
        for (int i = 0; i < nitems; ++i) {
            zmq_pollitem_t& item = items[i];
            item.revents = 0;
            if (!item.socket) {
                set.add_descriptor(item.fd, item.events, item.revents);
                continue;
            }
            socket_object* const object = sockets().get(item.socket);
            if (!object)
                return fail(ENOTSOCK);
            set.add_socket(*object->socket, item.events, item.revents);
        }
        int ready = 0;
        const int error = set.wait(timeout, ready);
        return error ? fail(error) : ready;
    } catch (...) {
        return fail(ENOMEM);
    }
}

} // extern "C"
