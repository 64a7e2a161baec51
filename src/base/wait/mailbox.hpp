// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/wait/one_shot_call.hpp"
#include "base/wait/waiter.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace zlink::base {

/// What a mailbox carries: something that has news for the owner of the mailbox. It is queued at
/// most once at a time; further news meanwhile are merged into its event bits.
class mail {
public:
    virtual ~mail() = default;

protected:
    mail() = default;
    mail(const mail&) = delete;
    mail& operator=(const mail&) = delete;

private:
    friend class mailbox;
    mail* next_ = nullptr;
    std::atomic<std::uint32_t> events_{0};
    std::shared_ptr<void> keep_alive_; ///< while queued
};

/// News for one receiving thread from any number of threads, with its wake-up. A post to a receiver
/// that is neither asleep nor watched through a file descriptor costs no system call.
///
/// Three ways lead to the receiver, and the first mail in an empty box goes all of them: the
/// sleeper, if one is announced; the descriptor, if there is one; and the call, if one is armed.
///
/// Thread safety: post(), shut_down(), fire() and fire_and_wait() in any thread, all else in the
/// receiving thread.
/// Lifetime: posts to a closed mailbox are dropped, so holders of a shared_ptr may post at any
/// time.
class mailbox {
public:
    mailbox() = default;
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;
    ~mailbox();

    /// Adds `events` (bits, not 0) to the news of `item`, which `owner` keeps alive. False if the
    /// mailbox is closed.
    bool post(mail& item, std::uint32_t events, const std::shared_ptr<void>& owner) noexcept;
    /// Wakes the receiver for good: no sleep from now on. Used when a context is terminated.
    void shut_down() noexcept;
    bool is_shut_down() const noexcept { return shut_down_.load(std::memory_order_relaxed); }

    /// Is there anything to be collected? Cheap.
    bool has_mail() const noexcept { return head_.load(std::memory_order_relaxed) != nullptr; }
    /// Hands every item with its events to `handle(std::shared_ptr<void>, mail&, events)`. If that
    /// throws, the items behind stay for the next time.
    template <class Handler>
    void collect(Handler handle)
    {
        deliver(take_all(), handle);
    }
    /// Collects for the last time; posts from now on are refused.
    template <class Handler>
    void close(Handler handle)
    {
        deliver(in_order(head_.exchange(closed(), std::memory_order_acq_rel)), handle);
    }

    /// Announces that the receiver is going to sleep until `sleeper` is signalled, which the next
    /// post does once; false if there is mail. May be repeated.
    bool prepare_sleep(wakeup& sleeper) noexcept;
    /// Ends the announcement; true if a signal to the sleeper has been or is about to be sent.
    bool finish_sleep() noexcept;

    /// The descriptor that becomes readable when there is mail (created on the first call); -1 and
    /// errno when none can be had.
    int descriptor() noexcept;
    /// Has the descriptor been asked for?
    bool has_descriptor() const noexcept
    {
        return descriptor_.load(std::memory_order_relaxed) >= 0;
    }
    /// Makes the descriptor unreadable until the next mail.
    void clear_descriptor() noexcept;

    /// Arms a call that the next post makes, or shut_down(), once. False, and nothing is armed, if
    /// there is mail or the box is shut down. Takes the place of what was armed before.
    bool arm(one_shot_call::function& called, void* argument) noexcept;
    /// When this returns the call is not under way, and does not follow.
    void disarm() noexcept { call_.disarm(); }
    bool armed() const noexcept { return call_.armed(); }
    /// Makes the call that is armed, as if there were mail.
    void fire() noexcept { call_.fire(); }
    /// The same; when this returns the call is not under way in another thread either.
    void fire_and_wait() noexcept { call_.fire_and_wait(); }

private:
    template <class Handler>
    void deliver(mail* item, Handler& handle)
    {
        while (item) {
            mail* const next = item->next_;
            const std::shared_ptr<void> owner = std::move(item->keep_alive_);
            // From here on the item may be posted again.
            const std::uint32_t events = item->events_.exchange(0, std::memory_order_acq_rel);
            try {
                handle(owner, *item, events);
            } catch (...) {
                put_back(next);
                throw;
            }
            item = next;
        }
    }
    void put_back(mail* item) noexcept;
    mail* take_all() noexcept;
    mail* in_order(mail* newest) noexcept;
    bool push(mail& item) noexcept;
    void notify(mail* replaced) noexcept;
    mail* asleep() noexcept { return &asleep_mark_; }
    mail* closed() noexcept { return &closed_mark_; }

    std::atomic<mail*> head_{nullptr};
    std::atomic<wakeup*> sleeper_{nullptr};
    std::atomic<int> descriptor_{-1};
    std::atomic<bool> shut_down_{false};
    one_shot_call call_;
    mail asleep_mark_;
    mail closed_mark_;
    mail shut_down_mark_;
    std::shared_ptr<void> none_;
};

} // namespace zlink::base
