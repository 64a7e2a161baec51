// SPDX-License-Identifier: Apache-2.0
#include "core/pace/burst.hpp"

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include "base/memory/thread_own.hpp"
#include "base/sync/asymmetric_fence.hpp"
#include "base/system/no_cancellation.hpp"
#include "core/pace/held_wakeups.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <new>
#include <pthread.h>
#include <utility>

namespace zlink::core {
namespace {

struct own_burst {
    own_burst() noexcept = default;
    own_burst(const own_burst&) = delete;
    own_burst& operator=(const own_burst&) = delete;
    ~own_burst()
    {
        if (held)
            held->end();
    }
    std::shared_ptr<burst> held;
};
using burst_of_thread = base::thread_own<own_burst>;
const burst_of_thread keep_burst_of_thread;

// In the child of fork() the connections are those of the parent, which writes the batches itself.
// They are not let go either: they were never to end in the child.
void forget_burst_of_parent() noexcept
{
    if (own_burst* const own = burst_of_thread::find())
        std::construct_at(&own->held);
}
[[maybe_unused]] const int forgotten_over_fork =
    ::pthread_atfork(nullptr, nullptr, forget_burst_of_parent);

} // namespace

/// Looks after a burst whose thread may stay away: soon at first, then less often. It ends when
/// nothing has been left to it for a while.
/// Thread safety: the I/O thread it was made for.
class burst::guard {
public:
    guard(std::shared_ptr<burst> whose, boost::asio::io_context& io)
        : whose_(std::move(whose)), timer_(io)
    {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    // Without having ended: the I/O thread goes, as the context does.
    ~guard()
    {
        if (!whose_)
            return;
        const std::lock_guard lock(whose_->mutex_);
        whose_->guarded_ = false;
        whose_->hand_over();
    }

    static void schedule(std::unique_ptr<guard> self)
    {
        auto& timer = self->timer_;
        timer.expires_after(self->interval_);
        timer.async_wait([self = std::move(self)](const auto& error) mutable {
            if (!error && self->look())
                schedule(std::move(self));
        });
    }

private:
    // True while it is needed.
    bool look() noexcept
    {
        interval_ = std::min(interval_ * 2, tuning::batching::max_guard_interval);
        const std::shared_ptr<burst> looked_at = whose_; // until the lock is let go
        const std::unique_lock lock(looked_at->mutex_, std::try_to_lock);
        if (!lock)
            return true; // the thread is at it
        const auto& entries = whose_->entries_;
        // A stream to one connection is a little faster if the I/O thread writes some of it.
        if ((base::rule_is_on(base::rule::guard_joins_in) && entries.size() == 1) ||
            clock::now() - whose_->looked_at() >= tuning::batching::max_delay) {
            whose_->counters_.by_guard.add();
            whose_->erase_if([](auto& each) { return !each.request_write_for_owner(); });
        }
        idle_looks_ = entries.empty() ? idle_looks_ + 1 : 0;
        if (idle_looks_ < tuning::batching::idle_guard_rounds)
            return true;
        whose_->guarded_ = false; // with the lock: who adds a connection sees to another guard
        whose_.reset();
        return false;
    }

    std::shared_ptr<burst> whose_;
    boost::asio::steady_timer timer_;
    std::chrono::nanoseconds interval_ = tuning::batching::max_delay;
    unsigned idle_looks_ = 0;
};

burst* burst::of_this_thread() noexcept
{
    own_burst* const own = burst_of_thread::find_or_make();
    if (!own)
        return nullptr;
    if (!own->held) [[unlikely]] {
        try {
            own->held = std::make_shared<burst>();
        } catch (const std::bad_alloc&) {
        }
    }
    return own->held.get();
}

void burst::end_of_this_thread() noexcept
{
    held_wakeups::tell();
    if (own_burst* const own = burst_of_thread::find(); own && own->held)
        own->held->end();
}

void burst::expect_more_of_this_thread() noexcept
{
    if (own_burst* const own = burst_of_thread::find(); own && own->held)
        own->held->expect_more();
}

template <class Condition>
void burst::erase_if(Condition condition) noexcept
{
    std::erase_if(entries_, [&](const entry& each) { return condition(*each.connection); });
    batches_.store(entries_.size(), std::memory_order_relaxed);
}

void burst::clear() noexcept
{
    entries_.clear();
    batches_.store(0, std::memory_order_relaxed);
}

void burst::add(std::shared_ptr<batched_connection> connection, boost::asio::io_context& io,
                time_point now) noexcept
{
    wrote(now);
    bool needs_guard = false;
    try {
        const std::lock_guard lock(mutex_);
        if (entries_.empty())
            looked_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
        // It may be there from an ownership that somebody else has ended.
        if (std::ranges::find(entries_, connection, &entry::connection) == entries_.end())
            entries_.push_back({connection, connection->committed_messages() - 1});
        batches_.store(entries_.size(), std::memory_order_relaxed);
        needs_guard = !std::exchange(guarded_, true);
    } catch (const std::bad_alloc&) {
        if (connection->end_ownership()) {
            base::heavy_fence();
            connection->leave_to_io_thread();
        }
        return;
    }
    if (needs_guard)
        arm(io);
    if (batches_.load(std::memory_order_relaxed) > tuning::batching::max_connections_per_thread) {
        const std::lock_guard lock(mutex_);
        is_wide_ = true;
        hand_over();
        handed_over(now);
    }
}

// Without memory for a guard nothing is batched.
void burst::arm(boost::asio::io_context& io) noexcept
{
    const base::no_cancellation whole;
    try {
        auto fresh = std::make_unique<guard>(shared_from_this(), io);
        boost::asio::post(
            io, [fresh = std::move(fresh)]() mutable { guard::schedule(std::move(fresh)); });
    } catch (const std::bad_alloc&) {
        const std::lock_guard lock(mutex_);
        guarded_ = false;
        hand_over();
    }
}

void burst::look(time_point now) noexcept
{
    if (now - looked_at() >= tuning::batching::max_delay)
        write_all();
}

void burst::wrote_batch(time_point now) noexcept
{
    wrote(now);
    if (has_several())
        look(now);
    else
        looked_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

void burst::write_all() noexcept
{
    const std::lock_guard lock(mutex_);
    counters_.due.add();
    erase_if([](auto& each) { return !each.write_committed(); });
    const time_point now = clock::now();
    wrote(now);
    looked_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

// With the lock. Messages of a batch wake nobody, so they are not counted one by one.
std::uint64_t burst::batched_messages() const noexcept
{
    std::uint64_t messages = 0;
    for (const entry& each : entries_)
        messages += each.connection->committed_messages() - each.committed_before;
    return messages;
}

// Was there enough between two waits for batches to be worth while? Who waits again without having
// sent has learned nothing.
void burst::note_length(std::uint64_t batched) noexcept
{
    if (std::exchange(is_silent_, true))
        return;
    const bool was_long = is_wide_ ||
                          quick_wakes_of_burst_ + 1 >= tuning::batching::messages_of_long_burst ||
                          batched >= tuning::batching::messages_of_long_burst;
    if (was_long)
        long_bursts_ = std::min(long_bursts_ + 1, tuning::batching::max_long_bursts_counted);
    else if (long_bursts_ != 0)
        --long_bursts_;
    quick_wakes_of_burst_ = 0;
}

void burst::end() noexcept
{
    quick_wakes_ = 0;
    more_input_ = false;
    if (batches_.load(std::memory_order_relaxed) == 0) {
        note_length(0);
        is_wide_ = false;
        return;
    }
    const std::lock_guard lock(mutex_);
    counters_.ended.add();
    note_length(batched_messages());
    is_wide_ = false;
    if (end_ownerships())
        for (const entry& each : entries_)
            each.connection->write_last();
    clear();
}

// With the lock. The I/O threads write what is left.
void burst::hand_over() noexcept
{
    counters_.handed_over.add();
    if (end_ownerships())
        for (const entry& each : entries_)
            each.connection->leave_to_io_thread();
    clear();
}

// With the lock. One fence for all: it interrupts the other threads of the process. False if there
// is nothing left to be done for any.
bool burst::end_ownerships() noexcept
{
    erase_if([](auto& each) { return !each.end_ownership(); });
    if (entries_.empty())
        return false;
    base::heavy_fence();
    return true;
}

} // namespace zlink::core
