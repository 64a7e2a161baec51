// SPDX-License-Identifier: Apache-2.0
#include "core/wait/poll.hpp"

#include "core/pace/flush_list.hpp"

#include <cerrno>
#include <pthread.h>
#include <utility>
#include <zmq.h>

namespace zlink::core {

poll_set::poll_set(std::size_t items)
{
    sockets_.reserve(items);
}

void poll_set::add_socket(socket& polled, short wanted, short& ready)
{
    sockets_.push_back({&polled, wanted, &ready, wait_mark(&polled)});
}

void poll_set::add_descriptor(int fd, short wanted, short& ready)
{
    const short events = static_cast<short>((wanted & ZMQ_POLLIN ? POLLIN : 0) |
                                            (wanted & ZMQ_POLLOUT ? POLLOUT : 0) |
                                            (wanted & ZMQ_POLLPRI ? POLLPRI : 0));
    descriptors_.push_back({&ready});
    polled_.push_back({fd, events, 0});
}

int poll_set::check_sockets(int& ready, std::uint32_t& mail)
{
    for (const socket_item& item : sockets_) {
        if (item.polled->close_requested())
            return ENOTSOCK;
        int events = 0;
        if (const int error = item.polled->poll_events(item.wanted, events, mail))
            return error;
        *item.ready = static_cast<short>(item.wanted & events);
        ready += *item.ready != 0;
    }
    return 0;
}

int poll_set::check_descriptors(int& ready, int timeout_ms)
{
    if (polled_.empty())
        return 0;
    if (::poll(polled_.data(), polled_.size(), timeout_ms) < 0)
        return errno;
    for (std::size_t i = 0; i < descriptors_.size(); ++i) {
        const short events = polled_[i].revents;
        *descriptors_[i].ready = static_cast<short>(
            (events & POLLIN ? ZMQ_POLLIN : 0) | (events & POLLOUT ? ZMQ_POLLOUT : 0) |
            (events & POLLPRI ? ZMQ_POLLPRI : 0) |
            (events & ~(POLLIN | POLLOUT | POLLPRI) ? ZMQ_POLLERR : 0));
        ready += *descriptors_[i].ready != 0;
    }
    return 0;
}

int poll_set::wait(long timeout_ms, int& ready, const sigset_t* mask)
{
    const base::deadline until = base::deadline_after_ms(timeout_ms);
    bool timed_out = timeout_ms == 0 && !mask; // a mask lets pending signals in, even so
    for (bool prepared = false;;) {
        pthread_testcancel();
        ready = 0;
        sleeper_.begin();
        // Descriptors first: one may be that of a socket here, which looking at the socket quiets.
        if (const int error = check_descriptors(ready, 0))
            return error;
        std::uint32_t mail = 0;
        if (const int error = check_sockets(ready, mail))
            return error;
        if (!ready && timed_out)
            flush_list::flush_this_thread();
        if (ready || timed_out)
            return 0;
        if (mail) { // a later item may have taken the news for an earlier one of the same socket
            timed_out = until != base::no_deadline && base::steady_clock::now() >= until;
            continue;
        }
        for (const socket_item& item : sockets_)
            if (!item.polled->gate()) // the others see to it when they are asked
                item.polled->flush();
        if (!std::exchange(prepared, true)) {
            for (const socket_item& item : sockets_)
                sleeper_.add(*item.polled, (item.wanted & ZMQ_POLLIN) != 0);
            sleeper_.prepare(!descriptors_.empty() || mask);
            if (sleeper_.watches())
                continue; // what has come before they were watched
        }
        if (const int error = sleeper_.sleep(until, timed_out, polled_, mask))
            return error;
    }
}

} // namespace zlink::core
