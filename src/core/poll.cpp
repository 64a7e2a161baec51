// SPDX-License-Identifier: Apache-2.0
#include "core/poll.hpp"

#include "base/sleep.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <zmq.h>

namespace zlink::core {

poll_set::poll_set(std::size_t items)
{
    sockets_.reserve(items);
}

poll_set::~poll_set()
{
    if (watching_)
        for (socket_gate* gate : gates_)
            gate->unwatch(*watching_);
}

void poll_set::add_socket(socket& polled, short wanted, short& ready)
{
    sockets_.push_back({&polled, wanted, &ready});
    if (socket_gate* const gate = polled.gate())
        gates_.push_back(gate);
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

int poll_set::prepare_to_sleep(bool on_descriptors)
{
    const auto drop_repeated = [](auto& list) { // a socket may be listed more than once
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    for (const socket_item& item : sockets_)
        if (!item.polled->gate())
            boxes_.push_back(&item.polled->box());
    drop_repeated(boxes_);
    drop_repeated(gates_);
    if (gates_.empty())
        return 0;
    // Sockets of both kinds cannot share the waiter: that the last signal of a mailbox has come
    // could not be told from others.
    const bool alone = boxes_.empty() && descriptors_.empty() && !on_descriptors;
    if (const int error = alone ? 0 : alarm_.open())
        return error;
    watching_ = alone ? static_cast<base::wakeup*>(&waiter_) : &alarm_;
    for (socket_gate* gate : gates_)
        gate->watch(*watching_);
    return 0;
}

// With sockets of one kind only, the thread sleeps on one waiter that all of them signal.
int poll_set::sleep(std::uint32_t seen, base::deadline until, bool& timed_out)
{
    const auto woken = base::sleep_until_mail(boxes_, waiter_, seen, until);
    timed_out = woken == base::wait_result::timeout;
    return woken == base::wait_result::interrupted ? EINTR : 0;
}

int poll_set::sleep_on_descriptors(base::deadline until, bool& timed_out, const sigset_t* mask)
{
    // From now on the sockets signal through descriptors of their own too.
    polled_.resize(descriptors_.size());
    for (base::mailbox* box : boxes_) {
        const int fd = box->descriptor();
        if (fd < 0)
            return errno;
        polled_.push_back({fd, POLLIN, 0});
    }
    if (!gates_.empty())
        polled_.push_back({alarm_.descriptor(), POLLIN, 0});
    timespec left{};
    const int count = ::ppoll(polled_.data(), polled_.size(),
                              base::time_left(until, left) ? &left : nullptr, mask);
    const int error = count < 0 ? errno : 0;
    timed_out = count == 0 || (until != base::no_deadline && base::steady_clock::now() >= until);
    polled_.resize(descriptors_.size());
    return error;
}

int poll_set::wait(long timeout_ms, int& ready, const sigset_t* mask)
{
    const base::deadline until = base::deadline_after_ms(timeout_ms);
    bool timed_out = timeout_ms == 0 && !mask; // a mask lets pending signals in, even so
    for (bool prepared = false;;) {
        ready = 0;
        const std::uint32_t seen = waiter_.count();
        if (watching_ == &alarm_)
            alarm_.clear();
        // Descriptors first: one may be that of a socket here, which looking at the socket quiets.
        if (const int error = check_descriptors(ready, 0))
            return error;
        std::uint32_t mail = 0;
        if (const int error = check_sockets(ready, mail))
            return error;
        if (ready || timed_out)
            return 0;
        if (mail)
            continue; // a later item may have taken the news for an earlier one of the same socket
        for (const socket_item& item : sockets_)
            if (!item.polled->gate()) // the others see to it when they are asked
                item.polled->flush();
        if (!std::exchange(prepared, true)) {
            if (const int error = prepare_to_sleep(mask != nullptr))
                return error;
            if (watching_)
                continue; // what has come before they were watched
        }
        const bool on_waiter = descriptors_.empty() && !mask && watching_ != &alarm_;
        const int error = on_waiter ? sleep(seen, until, timed_out)
                                    : sleep_on_descriptors(until, timed_out, mask);
        if (error)
            return error;
    }
}

} // namespace zlink::core
