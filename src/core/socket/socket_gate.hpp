// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/adaptive_spin.hpp"
#include "base/sync/asymmetric_mutex.hpp"
#include "base/tuning.hpp"
#include "base/wait/mailbox.hpp"
#include "base/wait/waiter.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace zlink::core {

/// Lets many threads use one socket: they take turns, and a thread that waits inside of its turn
/// lets the others in. Sockets of types that belong to one thread have none.
///
/// While a thread sleeps here or somebody watches, the mailbox of the socket is kept announced as
/// asleep, so whatever is posted next signals the gate; all who wait look again then. A thread that
/// waits alone and only looks finds the mail by itself.
///
/// Lifetime: a gate is never destroyed, but serves one socket after another: it can be locked with
/// a handle that is being closed in another thread. signal() may come late, which does no harm.
/// Thread safety: any thread; see the functions for what needs a turn.
class socket_gate final : public base::wakeup {
public:
    /// The right to use the socket. What it slept on stays alive until the end of the turn.
    class turn {
    public:
        explicit turn(socket_gate& gate) : gate_(gate)
        {
            gate_.lock();
            gate_.current_ = this;
        }
        ~turn() { gate_.unlock(); }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;

    private:
        friend class socket_gate;
        socket_gate& gate_;
        std::shared_ptr<void> slept_on_;
    };

    /// In a turn: serves a socket from now on; `owner` keeps it and its context alive.
    void open(std::shared_ptr<void> owner) { owner_ = std::move(owner); }
    /// In a turn: the socket is closed; all who wait for it look again. Returns the owner.
    std::shared_ptr<void> close() noexcept;

    /// What a thread waits for: news of messages to be had, perhaps in a stream (see
    /// base::adaptive_spin), or of room for messages.
    enum class purpose : unsigned char { message, message_of_stream, room };
    /// In a turn: lets others in until there is news for `box`, which must be the socket's, or time
    /// is up. Who waits alone may look for news for a while before it sleeps; `collected`, the mail
    /// that the socket has collected so far, tells whether others have taken it meanwhile. The
    /// socket may have been closed as well.
    base::wait_result sleep(base::mailbox& box, const std::uint32_t& collected,
                            base::deadline until, purpose why);
    /// In a turn: the socket has changed otherwise than by mail, all who wait look again.
    void wake() noexcept
    {
        if (sleeping_ || watched())
            signal();
    }

    /// Any thread: `watcher` is signalled when the socket may have become ready, from each time on
    /// that socket::poll_events() found it not to be. May throw std::bad_alloc.
    void watch(base::wakeup& watcher);
    /// Any thread: ends that; no signal follows. No effect if it does not watch.
    void unwatch(base::wakeup& watcher) noexcept;

    /// Any thread: there is news.
    void signal() noexcept override;

private:
    void lock()
    {
        if (mutex_.try_lock())
            return;
        queued_.fetch_add(1, std::memory_order_relaxed);
        mutex_.lock();
        queued_.fetch_sub(1, std::memory_order_relaxed);
    }
    void unlock() noexcept
    {
        const bool make_way = queued_.load(std::memory_order_relaxed) != 0 &&
                              ++contended_ % tuning::turn::socket_turns_in_a_row == 0;
        mutex_.unlock();
        if (make_way) [[unlikely]]
            std::this_thread::yield();
    }
    bool watched() const noexcept { return watched_.load(std::memory_order_relaxed); }
    void lock_again(turn* mine)
    {
        lock();
        current_ = mine;
    }
    base::wait_result sleep_in_turn(base::mailbox& box, base::deadline until, std::uint32_t seen);
    void end_wait(base::mailbox& box) noexcept;

    base::asymmetric_mutex mutex_;
    std::atomic<unsigned> queued_{0}; ///< threads that want a turn now
    unsigned contended_ = 0;          ///< ends of turns while others wanted one
    turn* current_ = nullptr;         ///< of the thread that holds the mutex
    std::shared_ptr<void> owner_;
    unsigned sleeping_ = 0; ///< threads that wait in sleep()
    base::waiter sleepers_;
    base::adaptive_spin receiving_spin_; ///< of who waits alone
    base::adaptive_spin sending_spin_;   ///< the same

    std::atomic<bool> watched_{false};
    std::mutex watchers_mutex_; ///< never held when another lock is taken
    std::vector<base::wakeup*> watchers_;
};

} // namespace zlink::core
