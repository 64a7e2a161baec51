// SPDX-License-Identifier: Apache-2.0
#include "core/poll.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <zmq.h>

namespace zlink::core {
namespace {

int milliseconds_until(base::deadline until)
{
    if (until == base::no_deadline)
        return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - base::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

} // namespace

poll_set::poll_set(std::size_t items)
{
    sockets_.reserve(items);
}

void poll_set::add_socket(socket& polled, short wanted, short& ready)
{
    sockets_.push_back({&polled, wanted, &ready});
}

void poll_set::add_descriptor(int fd, short wanted, short& ready)
{
    const short events = static_cast<short>((wanted & ZMQ_POLLIN ? POLLIN : 0) |
                                            (wanted & ZMQ_POLLOUT ? POLLOUT : 0) |
                                            (wanted & ZMQ_POLLPRI ? POLLPRI : 0));
    descriptors_.push_back({&ready});
    polled_.push_back({fd, events, 0});
}

int poll_set::check_sockets(int& ready)
{
    for (const socket_item& item : sockets_) {
        int events = 0;
        if (const int error = item.polled->events(events))
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

// With sockets only, the thread sleeps on one waiter that all of them signal.
int poll_set::sleep(base::deadline until, bool& timed_out)
{
    if (boxes_.empty()) { // a socket may be listed more than once
        for (const socket_item& item : sockets_)
            boxes_.push_back(&item.polled->box());
        std::ranges::sort(boxes_);
        boxes_.erase(std::ranges::unique(boxes_).begin(), boxes_.end());
    }
    const std::uint32_t seen = waiter_.count();
    std::size_t prepared = 0;
    while (prepared < boxes_.size() && boxes_[prepared]->prepare_sleep(waiter_))
        ++prepared;
    base::wait_result woken = base::wait_result::signalled;
    if (prepared == boxes_.size())
        woken = waiter_.wait(seen, until);
    std::uint32_t signals = 0;
    for (std::size_t i = 0; i < prepared; ++i)
        signals += boxes_[i]->finish_sleep();
    waiter_.absorb(seen, signals);
    timed_out = woken == base::wait_result::timeout && signals == 0;
    return woken == base::wait_result::interrupted && signals == 0 ? EINTR : 0;
}

int poll_set::sleep_on_descriptors(base::deadline until, bool& timed_out)
{
    // From now on the sockets signal through descriptors of their own too.
    polled_.resize(descriptors_.size());
    for (const socket_item& item : sockets_) {
        const int fd = item.polled->box().descriptor();
        if (fd < 0)
            return errno;
        polled_.push_back({fd, POLLIN, 0});
    }
    const int count = ::poll(polled_.data(), polled_.size(), milliseconds_until(until));
    const int error = count < 0 ? errno : 0;
    timed_out = count == 0 || (until != base::no_deadline && base::steady_clock::now() >= until);
    polled_.resize(descriptors_.size());
    return error;
}

int poll_set::wait(long timeout_ms, int& ready)
{
    const base::deadline until = base::deadline_after_ms(timeout_ms);
    bool timed_out = timeout_ms == 0;
    for (;;) {
        ready = 0;
        if (const int error = check_sockets(ready))
            return error;
        if (const int error = check_descriptors(ready, 0))
            return error;
        if (ready || timed_out)
            return 0;
        const int error =
            descriptors_.empty() ? sleep(until, timed_out) : sleep_on_descriptors(until, timed_out);
        if (error)
            return error;
    }
}

} // namespace zlink::core
