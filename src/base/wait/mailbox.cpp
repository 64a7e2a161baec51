// SPDX-License-Identifier: Apache-2.0
#include "base/wait/mailbox.hpp"
#include "base/system/no_cancellation.hpp"

#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>

namespace zlink::base {

mailbox::~mailbox()
{
    close([](const std::shared_ptr<void>&, mail&, std::uint32_t) {});
    const int fd = descriptor_.load(std::memory_order_relaxed);
    if (fd >= 0) {
        const no_cancellation whole;
        ::close(fd);
    }
}

bool mailbox::post(mail& item, std::uint32_t events, const std::shared_ptr<void>& owner) noexcept
{
    if (item.events_.fetch_or(events, std::memory_order_acq_rel) != 0)
        return true; // queued already, or about to be
    item.keep_alive_ = owner;
    return push(item);
}

bool mailbox::push(mail& item) noexcept
{
    mail* first = head_.load(std::memory_order_relaxed);
    do {
        if (first == closed()) {
            item.keep_alive_.reset();
            item.events_.store(0, std::memory_order_release);
            return false;
        }
        item.next_ = first == asleep() ? nullptr : first;
    } while (!head_.compare_exchange_weak(first, &item, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
    notify(first);
    return true;
}

void mailbox::put_back(mail* item) noexcept
{
    while (item) {
        mail* const next = item->next_;
        push(*item);
        item = next;
    }
}

void mailbox::notify(mail* replaced) noexcept
{
    if (replaced != nullptr && replaced != asleep())
        return; // whoever put the first item there has seen to it
    const int fd = descriptor_.load(std::memory_order_acquire);
    if (fd >= 0) {
        const no_cancellation whole;
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
    }
    call_.fire();
    if (replaced == asleep())
        sleeper_.load(std::memory_order_relaxed)->signal(); // last use of the sleeper
}

void mailbox::shut_down() noexcept
{
    if (shut_down_.exchange(true, std::memory_order_acq_rel))
        return;
    post(shut_down_mark_, 1, none_);
}

mail* mailbox::take_all() noexcept
{
    // The announcement of another thread that sleeps stays (sockets used by many threads).
    const mail* const newest = head_.load(std::memory_order_relaxed);
    if (!newest || newest == asleep())
        return nullptr;
    return in_order(head_.exchange(nullptr, std::memory_order_acq_rel));
}

// Posted last comes first: turns the list round and leaves the marks out.
mail* mailbox::in_order(mail* newest) noexcept
{
    if (newest == closed() || newest == asleep())
        return nullptr;
    mail* ordered = nullptr;
    while (newest) {
        mail* next = newest->next_;
        if (newest == &shut_down_mark_) {
            newest->events_.store(0, std::memory_order_relaxed);
        } else {
            newest->next_ = ordered;
            ordered = newest;
        }
        newest = next;
    }
    return ordered;
}

bool mailbox::prepare_sleep(wakeup& sleeper) noexcept
{
    if (is_shut_down())
        return false;
    sleeper_.store(&sleeper, std::memory_order_relaxed);
    mail* seen = nullptr;
    if (head_.compare_exchange_strong(seen, asleep(), std::memory_order_acq_rel))
        return true;
    // Announced already: written again, so that whoever posts next knows all this thread has done.
    return seen == asleep() &&
           head_.compare_exchange_strong(seen, asleep(), std::memory_order_acq_rel);
}

bool mailbox::finish_sleep() noexcept
{
    mail* mark = asleep();
    return !head_.compare_exchange_strong(mark, nullptr, std::memory_order_acq_rel);
}

bool mailbox::arm(one_shot_call::function& called, void* argument) noexcept
{
    if (is_shut_down())
        return false;
    call_.arm(called, argument);
    // Written though it is empty: as in prepare_sleep(), whoever posts next knows of it then.
    mail* seen = nullptr;
    if (head_.compare_exchange_strong(seen, nullptr, std::memory_order_acq_rel))
        return true;
    return !call_.disarm(); // made already: then it was armed
}

int mailbox::descriptor() noexcept
{
    int fd = descriptor_.load(std::memory_order_relaxed);
    if (fd >= 0)
        return fd;
    fd = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC); // readable at first: something may have happened
    if (fd < 0)
        return -1;
    descriptor_.store(fd, std::memory_order_release);
    return fd;
}

void mailbox::clear_descriptor() noexcept
{
    const int fd = descriptor_.load(std::memory_order_relaxed);
    if (fd < 0)
        return;
    // Whoever puts the first mail into an empty box writes, perhaps later than the mail is taken:
    // only a look at the descriptor itself tells.
    const no_cancellation whole;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(fd, &count, sizeof count);
}

} // namespace zlink::base
