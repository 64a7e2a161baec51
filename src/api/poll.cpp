// SPDX-License-Identifier: Apache-2.0
#include "core/wait/poll.hpp"
#include "api/objects.hpp"
#include "core/pace/flush_list.hpp"

#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <pthread.h>
#include <span>
#include <vector>
#include <zmq.h>

using namespace zlink::api;

namespace {

// Whoever polls again and again mostly finds something: then there is nothing to prepare for a
// sleep. The result of the call; nothing if there is more to do.
std::optional<int> look_first(zmq_pollitem_t* items, int nitems, bool only_once)
{
    constexpr int most_items = 8;
    zlink::core::socket* polled[most_items];
    if (nitems > most_items)
        return {};
    for (int i = 0; i < nitems; ++i) {
        if (!items[i].socket || is_shared(items[i].socket))
            return {};
        polled[i] = sockets().get(items[i].socket);
        if (!polled[i])
            return fail(no_socket(items[i].socket));
    }
    int ready = 0;
    for (int i = 0; i < nitems; ++i) {
        int events = 0;
        std::uint32_t mail = 0;
        if (const int error = polled[i]->poll_events(items[i].events, events, mail))
            return fail(error);
        items[i].revents = static_cast<short>(items[i].events & events);
        ready += items[i].revents != 0;
    }
    if (!ready && !only_once)
        return {};
    if (!ready) {
        zlink::core::flush_list::flush_this_thread(); // what it asks for may answer that
        pthread_testcancel();
    }
    return ready;
}

using kept_sockets = std::vector<std::shared_ptr<socket_object>>;

int wait_for_items(std::span<zmq_pollitem_t> items, long timeout, const sigset_t* mask,
                   kept_sockets& kept, int& ready)
{
    zlink::core::poll_set set(items.size());
    for (zmq_pollitem_t& item : items) {
        item.revents = 0;
        if (!item.socket) {
            set.add_descriptor(item.fd, item.events, item.revents);
            continue;
        }
        zlink::core::socket* const polled = socket_to_wait_for(item.socket, kept);
        if (!polled)
            return no_socket(item.socket);
        set.add_socket(*polled, item.events, item.revents);
    }
    return set.wait(timeout, ready, mask);
}

int poll_items(zmq_pollitem_t* items, int nitems, long timeout, const sigset_t* mask)
{
    if (nitems < 0)
        return fail(EINVAL);
    if (nitems > 0 && !items)
        return fail(EFAULT);
    try {
        if (std::optional<int> done = look_first(items, nitems, timeout == 0 && !mask))
            return *done;
        kept_sockets kept; // others may close them meanwhile
        int ready = 0;
        const int error =
            wait_for_items({items, static_cast<std::size_t>(nitems)}, timeout, mask, kept, ready);
        kept.clear();
        return error ? fail(error) : ready; // only now: what was kept may end and change errno
    } catch (const std::exception&) { // and nothing else, which passes when the thread is cancelled
        return fail(ENOMEM);
    }
}

} // namespace

extern "C" {

int zmq_poll(zmq_pollitem_t* items, int nitems, long timeout)
{
    return poll_items(items, nitems, timeout, nullptr);
}

int zmq_ppoll(zmq_pollitem_t* items, int nitems, long timeout, const void* sigmask)
{
    return poll_items(items, nitems, timeout, static_cast<const sigset_t*>(sigmask));
}

} // extern "C"
