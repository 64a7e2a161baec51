// SPDX-License-Identifier: Apache-2.0
#include "core/socket/socket_gate.hpp"

#include <algorithm>
#include <utility>

namespace zlink::core {

std::shared_ptr<void> socket_gate::close() noexcept
{
    wake();
    return std::move(owner_);
}

base::wait_result socket_gate::sleep(base::mailbox& box, const std::uint32_t& collected,
                                     base::deadline until, purpose why)
{
    const std::uint32_t seen = sleepers_.count();
    const std::uint32_t collected_before = collected;
    turn* const mine = current_;
    mine->slept_on_ = owner_; // the box is a part of it
    base::wait_result woken{};
    if (sleeping_ != 0 || watched()) {
        woken = sleep_in_turn(box, until, seen);
    } else {
        bool my_turn = false;
        ++sleeping_; // others who want to wait meanwhile do not look as well
        mutex_.unlock();
        const auto back = [&] {
            lock_again(mine);
            end_wait(box);
            my_turn = true;
        };
        base::adaptive_spin& how = why == purpose::room ? sending_spin_ : receiving_spin_;
        woken = how.wait(
            why == purpose::message_of_stream, until,
            [&] {
                // Also if somebody else has begun to sleep and so announced the box as asleep.
                return box.has_mail() || sleepers_.count() != seen ? base::glance::news
                                                                   : base::glance::nothing;
            },
            [&] {
                back();
                if (collected != collected_before)
                    return base::wait_result::signalled;
                return sleep_in_turn(box, until, seen);
            });
        if (!my_turn)
            back();
    }
    return sleepers_.count() != seen ? base::wait_result::signalled : woken;
}

base::wait_result socket_gate::sleep_in_turn(base::mailbox& box, base::deadline until,
                                             std::uint32_t seen)
{
    if (!box.prepare_sleep(*this))
        return base::wait_result::signalled;
    turn* const mine = current_;
    ++sleeping_;
    mutex_.unlock();
    const auto back = [&] {
        lock_again(mine);
        end_wait(box);
    };
    base::wait_result woken{};
    try {
        woken = sleepers_.wait(seen, until);
    } catch (...) { // the thread is cancelled
        back();
        throw;
    }
    back();
    return woken;
}

void socket_gate::end_wait(base::mailbox& box) noexcept
{
    if (--sleeping_ == 0 && !watched())
        box.finish_sleep(); // spares the next post the signal
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
