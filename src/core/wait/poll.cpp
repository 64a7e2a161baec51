// SPDX-License-Identifier: Apache-2.0
#include "core/wait/poll.hpp"

#include "core/pace/flush_list.hpp"

#include <cerrno>
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

int poll_set::check_descriptors(int& ready)
{
    if (polled_.empty())
        return 0;
    if (::poll(polled_.data(), polled_.size(), 0) < 0)
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

base::poll_answer poll_set::poll(int& ready)
{
    ready = 0;
    sleeper_.begin();
    // Descriptors first: one may be that of a socket here, which polling the socket quiets.
    if (const int error = check_descriptors(ready))
        return base::poll_answer::ended(error);
    std::uint32_t mail = 0;
    if (const int error = check_sockets(ready, mail))
        return base::poll_answer::ended(error);
    if (ready)
        return base::poll_answer::ended(0);
    // A later item may have taken the mail for an earlier one of the same socket.
    return mail ? base::poll_answer::changed() : base::poll_answer::nothing();
}

// Before the first sleep. True if there are sockets that had to be watched first: what has come
// before that is still to be found.
bool poll_set::watch(const sigset_t* mask)
{
    if (std::exchange(watching_, true))
        return false;
    for (const socket_item& item : sockets_)
        sleeper_.add(*item.polled, (item.wanted & ZMQ_POLLIN) != 0);
    return sleeper_.watch(descriptors_.empty() && !mask ? nullptr : &polled_, mask);
}

void poll_set::flush() noexcept
{
    for (const socket_item& item : sockets_)
        if (!item.polled->gate()) // the others see to it when they are asked
            item.polled->flush();
    flush_list::flush_this_thread();
}

int poll_set::wait(long timeout_ms, int& ready, const sigset_t* mask)
{
    const auto poll_to_sleep = [&] {
        const base::poll_answer answer = poll(ready);
        if (answer.is_end() || answer.has_changed() || (timeout_ms == 0 && !mask))
            return answer;
        return watch(mask) ? base::poll_answer::changed() : answer;
    };
    // A mask lets pending signals in, even if there is no time.
    const int error = base::blocking_wait(timeout_ms, mask != nullptr)
                          .run(
                              poll_to_sleep, [this] { flush(); }, sleeper_);
    return error == EAGAIN ? 0 : error;
}

} // namespace zlink::core
