// SPDX-License-Identifier: Apache-2.0
#include "core/pace/flush_list.hpp"

#include "base/tuning.hpp"

#include "base/memory/thread_own.hpp"
#include "base/sync/asymmetric_fence.hpp"
#include "base/system/no_cancellation.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <pthread.h>
#include <utility>

namespace zlink::core {
namespace {

struct own_list {
    own_list() noexcept = default;
    own_list(const own_list&) = delete;
    own_list& operator=(const own_list&) = delete;
    ~own_list()
    {
        if (held)
            held->flush();
    }
    std::shared_ptr<flush_list> held;
};
using list_of_thread = base::thread_own<own_list>;
const list_of_thread keep_list_of_thread;

// In the child of fork() the connections are those of the parent, which writes the batches itself.
// They are not let go either: they were never to end in the child.
void forget_list_of_parent() noexcept
{
    if (own_list* const own = list_of_thread::find())
        std::construct_at(&own->held);
}
[[maybe_unused]] const int forgotten_over_fork =
    ::pthread_atfork(nullptr, nullptr, forget_list_of_parent);

} // namespace

flush_list* flush_list::find_of_this_thread() noexcept
{
    own_list* const own = list_of_thread::find();
    return own ? own->held.get() : nullptr;
}

flush_list* flush_list::of_this_thread() noexcept
{
    own_list* const own = list_of_thread::find_or_make();
    if (!own)
        return nullptr;
    if (!own->held) [[unlikely]] {
        try {
            own->held = std::make_shared<flush_list>();
        } catch (const std::bad_alloc&) {
        }
    }
    return own->held.get();
}

void flush_list::flush_this_thread() noexcept
{
    if (flush_list* const own = find_of_this_thread())
        own->flush();
}

void flush_list::expect_more_of_this_thread() noexcept
{
    if (flush_list* const own = find_of_this_thread())
        own->expect_more();
}

void flush_list::flush_due_of_this_thread() noexcept
{
    if (flush_list* const own = find_of_this_thread();
        own && (own->has_batches() || !own->readers_.empty()))
        own->flush_if_due(clock::now());
}

// --- readers -----------------------------------------------------------------------------------

flush_list::held_readers::held_readers() noexcept
{
    flush_list* const own = of_this_thread();
    if (!own || own->holds_readers_)
        return;
    try {
        own->readers_.reserve(tuning::batching::max_held_readers);
    } catch (const std::bad_alloc&) {
        return;
    }
    of_ = own->shared_from_this();
    of_->holds_readers_ = true;
}

flush_list::held_readers::~held_readers()
{
    if (!of_)
        return;
    of_->tell_readers();
    of_->holds_readers_ = false;
}

void flush_list::hold(std::shared_ptr<void> reader, tell_function tell) noexcept
{
    const auto now = clock::now();
    if (readers_.size() == tuning::batching::max_held_readers)
        tell_readers();
    else
        tell_readers_if_due(now);
    if (readers_.empty())
        first_reader_ = now;
    readers_.push_back({std::move(reader), tell}); // there is room
}

void flush_list::tell_readers() noexcept
{
    for (const auto& reader : readers_)
        reader.tell(reader.object.get());
    readers_.clear();
}

void flush_list::tell_readers_if_due(time_point now) noexcept
{
    if (!readers_.empty() && now - first_reader_ >= tuning::batching::max_delay)
        tell_readers();
}

// --- batches -----------------------------------------------------------------------------------

template <class Condition>
void flush_list::erase_if(Condition condition) noexcept
{
    std::erase_if(entries_, [&](const entry& each) { return condition(*each.connection); });
    batches_.store(entries_.size(), std::memory_order_relaxed);
}

void flush_list::clear() noexcept
{
    entries_.clear();
    batches_.store(0, std::memory_order_relaxed);
}

void flush_list::add(std::shared_ptr<batched_connection> connection, boost::asio::io_context& io,
                     time_point now) noexcept
{
    wrote(now);
    bool needs_guard = false;
    try {
        const std::lock_guard lock(mutex_);
        if (entries_.empty())
            flushed_at(now);
        // It may be there from batches that somebody else has ended.
        if (std::ranges::find(entries_, connection, &entry::connection) == entries_.end())
            entries_.push_back({connection, connection->committed_messages() - 1});
        batches_.store(entries_.size(), std::memory_order_relaxed);
        needs_guard = !std::exchange(guarded_, true);
    } catch (const std::bad_alloc&) {
        if (connection->stop_batches()) {
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

// Without memory for a guard nothing is batched: it loses this list then.
void flush_list::arm(boost::asio::io_context& io) noexcept
{
    const base::no_cancellation whole;
    try {
        runtime::guard_timer::watch(io, shared_from_this());
    } catch (const std::bad_alloc&) {
    }
}

bool flush_list::look_after() noexcept
{
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return true; // the thread is at it
    if (is_due(clock::now())) {
        counters_.by_guard.add();
        erase_if([](auto& each) { return !each.request_write(); });
    }
    idle_rounds_ = entries_.empty() ? idle_rounds_ + 1 : 0;
    if (idle_rounds_ < tuning::batching::idle_guard_rounds)
        return true;
    idle_rounds_ = 0;
    guarded_ = false; // with the lock: who adds a connection sees to another guard
    return false;
}

void flush_list::lose_guard() noexcept
{
    const std::lock_guard lock(mutex_);
    guarded_ = false;
    hand_over();
}

void flush_list::flush_if_due(time_point now) noexcept
{
    tell_readers_if_due(now);
    if (has_batches() && is_due(now))
        write_all();
}

void flush_list::wrote_batch(time_point now) noexcept
{
    wrote(now);
    if (has_several())
        flush_if_due(now);
    else
        flushed_at(now);
}

void flush_list::write_all() noexcept
{
    const std::lock_guard lock(mutex_);
    counters_.due.add();
    erase_if([](auto& each) { return !each.write_batch(); });
    const time_point now = clock::now();
    wrote(now);
    flushed_at(now);
}

// With the lock. Messages of a batch wake nobody, so they are not counted one by one.
std::uint64_t flush_list::batched_messages() const noexcept
{
    std::uint64_t messages = 0;
    for (const entry& each : entries_)
        messages += each.connection->committed_messages() - each.committed_before;
    return messages;
}

void flush_list::flush() noexcept
{
    tell_readers();
    if (!has_batches()) {
        cadence_.waits(is_wide_ ? SIZE_MAX : 0);
        is_wide_ = false;
        return;
    }
    const std::lock_guard lock(mutex_);
    counters_.ended.add();
    cadence_.waits(is_wide_ ? SIZE_MAX : batched_messages());
    is_wide_ = false;
    if (stop_all())
        for (const entry& each : entries_)
            each.connection->write_last();
    clear();
}

// With the lock. The I/O threads write what is left.
void flush_list::hand_over() noexcept
{
    counters_.handed_over.add();
    if (stop_all())
        for (const entry& each : entries_)
            each.connection->leave_to_io_thread();
    clear();
}

// With the lock. One fence for all: it interrupts the other threads of the process. False if there
// is nothing left to be done for any.
bool flush_list::stop_all() noexcept
{
    erase_if([](auto& each) { return !each.stop_batches(); });
    if (entries_.empty())
        return false;
    base::heavy_fence();
    return true;
}

} // namespace zlink::core
