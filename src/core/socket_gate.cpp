// SPDX-License-Identifier: Apache-2.0
#include "core/socket_gate.hpp"

#include <algorithm>
#include <cerrno>

namespace zlink::core {

std::shared_ptr<void> socket_gate::close() noexcept
{
    wake();
    return std::move(owner_);
}

int socket_gate::sleep(base::mailbox& box, base::deadline until) noexcept
{
    const std::uint32_t seen = sleepers_.count();
    if (!box.prepare_sleep(*this))
        return 0;
    turn* const mine = current_;
    mine->slept_on_ = owner_; // the box is a part of it
    ++sleeping_;
    mutex_.unlock();
    const base::wait_result woken = sleepers_.wait(seen, until);
    lock();
    current_ = mine;
    if (--sleeping_ == 0 && !watched())
        box.finish_sleep(); // spares the next post the signal
    if (woken == base::wait_result::signalled || sleepers_.count() != seen)
        return 0;
    return woken == base::wait_result::timeout ? EAGAIN : EINTR;
}

void socket_gate::signal() noexcept
{
    sleepers_.signal();
    if (!watched_.load(std::memory_order_acquire))
        return;
    std::lock_guard lock(watchers_mutex_);
    for (base::wakeup* watcher : watchers_)
        watcher->signal();
}

void socket_gate::watch(base::wakeup& watcher)
{
    std::lock_guard lock(watchers_mutex_);
    watchers_.push_back(&watcher);
    watched_.store(true, std::memory_order_release);
}

void socket_gate::unwatch(base::wakeup& watcher) noexcept
{
    std::lock_guard lock(watchers_mutex_);
    if (const auto at = std::ranges::find(watchers_, &watcher); at != watchers_.end())
        watchers_.erase(at);
    watched_.store(!watchers_.empty(), std::memory_order_relaxed);
}

} // namespace zlink::core
