// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>

#include <zmq.h>

namespace zlink::api {
namespace {

using clock = std::chrono::steady_clock;

/// The timers of one handle, ordered by the time they are due. One thread at a time.
class timer_set {
public:
    timer_set() = default;
    ~timer_set() { tag_ = 0; }
    timer_set(const timer_set&) = delete;
    timer_set& operator=(const timer_set&) = delete;

    /// The set behind a C handle; nullptr with EFAULT if the handle is none.
    static timer_set* from(void* handle);

    /// @return the new id. @throws std::bad_alloc, also when no id is left
    int add(std::size_t interval_ms, zmq_timer_fn* handler, void* arg);
    /// @return false if there is no such timer (so for the next two).
    bool cancel(int id);
    bool set_interval(int id, std::size_t interval_ms);
    bool reset(int id);
    /// Time until the first timer is due, rounded up so that waiting it out is enough; -1 if none.
    long timeout_ms() const;
    void execute();
    /// Ends the set: now, or when the execute() that runs on it returns.
    void destroy();

private:
    struct timer {
        int id;
        std::size_t interval_ms;
        zmq_timer_fn* handler;
        void* arg;
        std::uint64_t round; // the execute() that last called it or saw it appear
    };
    using queue = std::multimap<clock::time_point, timer>;

    /// Marks the set as running; the last one out frees a set destroyed meanwhile.
    class running {
    public:
        explicit running(timer_set& set) : set_(set) { ++set_.depth_; }
        ~running()
        {
            if (--set_.depth_ == 0 && set_.tag_ != live_tag) {
                delete &set_;
            }
        }
        running(const running&) = delete;
        running& operator=(const running&) = delete;

    private:
        timer_set& set_;
    };

    static clock::time_point due(clock::time_point from, std::size_t interval_ms);
    void move_to(queue::iterator position, clock::time_point when);

    static constexpr std::uint32_t live_tag = 0x7A74696D;

    // volatile: the store of the destructor must reach the memory, it marks stale handles.
    volatile std::uint32_t tag_ = live_tag;
    queue queue_;
    std::unordered_map<int, queue::iterator> by_id_;
    int last_id_ = 0;
    std::uint64_t round_ = 0;
    int depth_ = 0;
};

timer_set* timer_set::from(void* handle)
{
    auto* set = static_cast<timer_set*>(handle);
    if (set == nullptr || set->tag_ != live_tag) {
        errno = EFAULT;
        return nullptr;
    }
    return set;
}

clock::time_point timer_set::due(clock::time_point from, std::size_t interval_ms)
{
    using std::chrono::milliseconds;
    const auto longest =
        std::chrono::duration_cast<milliseconds>(clock::time_point::max() - from).count();
    const auto bounded =
        std::min<std::uintmax_t>(interval_ms, static_cast<std::uintmax_t>(longest));
    return from + milliseconds(static_cast<milliseconds::rep>(bounded));
}

int timer_set::add(std::size_t interval_ms, zmq_timer_fn* handler, void* arg)
{
    if (last_id_ == std::numeric_limits<int>::max()) {
        throw std::bad_alloc();
    }
    const int id = last_id_ + 1;
    const auto position = queue_.emplace(due(clock::now(), interval_ms),
                                         timer{id, interval_ms, handler, arg, round_});
    try {
        by_id_.emplace(id, position);
    } catch (...) {
        queue_.erase(position);
        throw;
    }
    last_id_ = id;
    return id;
}

bool timer_set::cancel(int id)
{
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return false;
    }
    queue_.erase(found->second);
    by_id_.erase(found);
    return true;
}

bool timer_set::set_interval(int id, std::size_t interval_ms)
{
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return false;
    }
    found->second->second.interval_ms = interval_ms;
    move_to(found->second, due(clock::now(), interval_ms));
    return true;
}

bool timer_set::reset(int id)
{
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return false;
    }
    move_to(found->second, due(clock::now(), found->second->second.interval_ms));
    return true;
}

/// Moves the node itself: no allocation, so it cannot fail.
void timer_set::move_to(queue::iterator position, clock::time_point when)
{
    auto node = queue_.extract(position);
    node.key() = when;
    const int id = node.mapped().id;
    by_id_.find(id)->second = queue_.insert(std::move(node));
}

long timer_set::timeout_ms() const
{
    if (queue_.empty()) {
        return -1;
    }
    const auto remaining =
        std::chrono::ceil<std::chrono::milliseconds>(queue_.begin()->first - clock::now());
    using rep = decltype(remaining)::rep;
    return static_cast<long>(
        std::clamp<rep>(remaining.count(), 0, rep{std::numeric_limits<long>::max()}));
}

void timer_set::execute()
{
    const running guard(*this);
    const auto start = clock::now();
    const auto round = ++round_;
    while (tag_ == live_tag && !queue_.empty()) {
        const auto first = queue_.begin();
        // A timer of this round stands behind all that are due, as those were inserted earlier.
        if (first->first > start || first->second.round >= round) {
            return;
        }
        first->second.round = round;
        const timer called = first->second;
        // Before the call, so that the handler may cancel or change its own timer.
        move_to(first, due(start, called.interval_ms));
        called.handler(called.id, called.arg);
    }
}

void timer_set::destroy()
{
    tag_ = 0;
    if (depth_ == 0) {
        delete this;
    }
}

int report(bool found)
{
    if (!found) {
        errno = EINVAL;
    }
    return found ? 0 : -1;
}

} // namespace
} // namespace zlink::api

using zlink::api::report;
using zlink::api::timer_set;

void* zmq_timers_new()
{
    try {
        return new timer_set;
    } catch (const std::exception&) {
        errno = ENOMEM;
        return nullptr;
    }
}

int zmq_timers_destroy(void** timers_p)
{
    auto* set = timer_set::from(timers_p == nullptr ? nullptr : *timers_p);
    if (set == nullptr) {
        return -1;
    }
    set->destroy();
    *timers_p = nullptr;
    return 0;
}

int zmq_timers_add(void* timers, size_t interval, zmq_timer_fn handler, void* arg)
{
    auto* set = timer_set::from(timers);
    if (set == nullptr || handler == nullptr) {
        errno = EFAULT;
        return -1;
    }
    try {
        return set->add(interval, handler, arg);
    } catch (const std::exception&) {
        errno = ENOMEM;
        return -1;
    }
}

int zmq_timers_cancel(void* timers, int timer_id)
{
    auto* set = timer_set::from(timers);
    return set == nullptr ? -1 : report(set->cancel(timer_id));
}

int zmq_timers_set_interval(void* timers, int timer_id, size_t interval)
{
    auto* set = timer_set::from(timers);
    return set == nullptr ? -1 : report(set->set_interval(timer_id, interval));
}

int zmq_timers_reset(void* timers, int timer_id)
{
    auto* set = timer_set::from(timers);
    return set == nullptr ? -1 : report(set->reset(timer_id));
}

long zmq_timers_timeout(void* timers)
{
    const auto* set = timer_set::from(timers);
    return set == nullptr ? -1 : set->timeout_ms();
}

int zmq_timers_execute(void* timers)
{
    auto* set = timer_set::from(timers);
    if (set == nullptr) {
        return -1;
    }
    set->execute();
    return 0;
}
