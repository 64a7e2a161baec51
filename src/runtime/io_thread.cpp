// SPDX-License-Identifier: Apache-2.0
#include "runtime/io_thread.hpp"
#include "base/system/no_cancellation.hpp"
#include "base/tuning.hpp"
#include "runtime/reactor.hpp"

#include <algorithm>
#include <bit>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <sched.h>
#include <sys/resource.h>
#include <utility>

namespace zlink::runtime {

namespace {

// After so long there may be memory again.
constexpr std::chrono::milliseconds pause_without_memory{10};

// What the system refuses is left as it is: these are wishes.
void pin(const thread_settings& settings)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (const int cpu : settings.cpus)
        if (cpu < CPU_SETSIZE)
            CPU_SET(static_cast<unsigned>(cpu), &cpus);
    if (CPU_COUNT(&cpus) != 0)
        pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

void schedule(const thread_settings& settings)
{
    if (settings.scheduling_policy < 0 && settings.priority < 0)
        return;
    int policy = 0;
    sched_param parameters{};
    pthread_getschedparam(pthread_self(), &policy, &parameters);
    if (settings.scheduling_policy >= 0)
        policy = settings.scheduling_policy;
    const bool real_time = policy == SCHED_FIFO || policy == SCHED_RR;
    const int least = sched_get_priority_min(policy);
    parameters.sched_priority = real_time ? std::max(settings.priority, least) : 0;
    pthread_setschedparam(pthread_self(), policy, &parameters);
    // Such policies know no priority but the nice value; documented is the best one for any.
    constexpr int best_nice_value = -20;
    if (!real_time && settings.priority > 0)
        ::setpriority(PRIO_PROCESS, 0, best_nice_value); // on Linux: of this thread
}

} // namespace

io_thread::~io_thread()
{
    stop();
    end_pause();
    while (resident* const remaining = next_asked())
        remaining->keep_alive_.reset(); // may be the end of it
}

int io_thread::start(int index, const thread_settings& settings)
{
    settings_ = settings;
    if (const int error = make_reactor(io_))
        return error;
    if (settings_.stepped)
        return 0;
    const std::string prefix = settings.name_prefix.empty() ? "" : settings.name_prefix + "/";
    name_ = (prefix + "ZMQbg/IO/" + std::to_string(index)).substr(0, 15);
    // Signals are for the threads of the application.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&thread_, nullptr, run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    running_ = error == 0;
    return error;
}

void* io_thread::run(void* argument)
{
    auto& self = *static_cast<io_thread*>(argument);
    const base::no_cancellation whole;
    pthread_setname_np(pthread_self(), self.name_.c_str());
    pin(self.settings_);
    schedule(self.settings_);
    self.run_handlers();
    return nullptr;
}

void io_thread::run_handlers()
{
    for (;;) {
        io_.restart(); // ask_later() may have stopped it
        if (stopping_.load(std::memory_order_acquire))
            return;
        try {
            if (paused_)
                io_.run_until(pause_ends_);
            else
                io_.run();
        } catch (...) {
            // Only memory exhaustion throws in a handler. Each of them that matters sees to that by
            // itself, as its operation is over; the loop goes on.
        }
        if (paused_ && clock::now() >= pause_ends_)
            end_pause();
    }
}

bool io_thread::step()
{
    if (paused_ && clock::now() >= pause_ends_) {
        io_.restart(); // which ask_later() has stopped
        end_pause();
    }
    try {
        return io_.poll_one() != 0;
    } catch (...) {
        return true; // as in run()
    }
}

void io_thread::await(const std::atomic<bool>& ended)
{
    while (settings_.stepped && !ended.load())
        step();
    ended.wait(false);
}

void io_thread::catch_up() noexcept
{
    const std::lock_guard lock(catching_up_);
    last_asked_.had_turn.store(false);
    ask(last_asked_, 0, nullptr);
    await(last_asked_.had_turn);
}

void io_thread::stop() noexcept
{
    if (!running_)
        return;
    stopping_.store(true, std::memory_order_release);
    io_.stop();
    pthread_join(thread_, nullptr);
    running_ = false;
}

void io_thread::ask(resident& whom, unsigned number, std::shared_ptr<void> owner) noexcept
{
    // Who finds it queued has come before the thread takes the requests away.
    if (whom.requests_.fetch_or(std::uint32_t{1} << number, std::memory_order_acq_rel) != 0)
        return;
    whom.keep_alive_ = std::move(owner);
    enlist(whom);
}

void io_thread::ask_later(resident& whom, unsigned number, std::shared_ptr<void> owner) noexcept
{
    if (whom.requests_.fetch_or(std::uint32_t{1} << number, std::memory_order_acq_rel) != 0)
        return; // it has its turn anyway
    whom.keep_alive_ = std::move(owner);
    whom.next_ = paused_;
    if (std::exchange(paused_, &whom))
        return;
    pause_ends_ = clock::now() + pause_without_memory;
    io_.stop(); // so that run_handlers() waits no longer than that
}

void io_thread::end_pause() noexcept
{
    while (resident* const next = paused_) {
        paused_ = next->next_;
        enlist(*next);
    }
}

void io_thread::enlist(resident& whom) noexcept
{
    resident* newest = asked_.load(std::memory_order_relaxed);
    do
        whom.next_ = newest;
    while (!asked_.compare_exchange_weak(newest, &whom, std::memory_order_acq_rel,
                                         std::memory_order_relaxed));
    if (!newest)
        come_soon();
}

void io_thread::come_soon() noexcept
{
    if (called_.exchange(true, std::memory_order_acq_rel))
        return;
    const base::no_cancellation whole;
    boost::asio::post(
        io_, boost::asio::bind_allocator(handler_allocator<std::byte>(room_), [this] { serve(); }));
}

// The next to be served; null if there is none.
resident* io_thread::next_asked() noexcept
{
    if (!taken_) {
        resident* newest = asked_.exchange(nullptr, std::memory_order_acq_rel);
        while (newest) {
            resident* const older = newest->next_;
            newest->next_ = taken_;
            taken_ = newest;
            newest = older;
        }
    }
    resident* const next = taken_;
    if (next)
        taken_ = next->next_;
    return next;
}

// Runs the requests that were queued before this call. Later ones are posted again, so that they do
// not starve the other handlers of this thread.
void io_thread::serve()
{
    called_.exchange(false, std::memory_order_acq_rel); // Asio has given the room back
    for (int served = 0; served < tuning::turn::operations_per_call && (served == 0 || taken_);
         ++served) {
        resident* const next = next_asked();
        if (!next)
            return;
        const std::shared_ptr<void> owner = std::move(next->keep_alive_);
        std::uint32_t requests = next->requests_.exchange(0, std::memory_order_acq_rel);
        for (; requests != 0; requests &= requests - 1) {
            const auto number = static_cast<unsigned>(std::countr_zero(requests));
            try {
                next->do_request(number);
            } catch (...) {
                ask_later(*next, number, owner);
            }
        }
    }
    if (taken_ || asked_.load(std::memory_order_acquire))
        come_soon();
}

int io_pool::start(int threads, const thread_settings& settings)
{
    try {
        for (int index = 0; index < threads; ++index) {
            threads_.push_back(std::make_unique<io_thread>());
            if (const int error = threads_.back()->start(index, settings)) {
                threads_.clear();
                return error;
            }
        }
        return 0;
    } catch (...) {
        threads_.clear();
        throw;
    }
}

void io_pool::catch_up() noexcept
{
    for (const auto& thread : threads_)
        thread->catch_up();
}

io_thread* io_pool::choose(std::uint64_t affinity) noexcept
{
    io_thread* best = nullptr;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        if (affinity != 0 && (i >= 64 || ((affinity >> i) & 1) == 0))
            continue;
        if (!best || threads_[i]->load() < best->load())
            best = threads_[i].get();
    }
    return best;
}

io_thread* io_pool::find(const boost::asio::io_context& context) noexcept
{
    const auto found = std::ranges::find_if(
        threads_, [&context](const auto& thread) { return &thread->context() == &context; });
    return found == threads_.end() ? nullptr : found->get();
}

} // namespace zlink::runtime
