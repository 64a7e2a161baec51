// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/handler_room.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <vector>

namespace zlink::runtime {

/// How the threads of a context are set up.
struct thread_settings {
    int priority = -1; ///< -1 = leave it; without a real-time policy > 0 = the best nice value
    int scheduling_policy = -1; ///< SCHED_*, -1 = leave it
    std::vector<int> cpus;      ///< allowed CPUs; empty = all
    std::string name_prefix;
    /// For tests, which decide what happens when: there is no thread, step() runs the loop.
    bool stepped = false;
};

/// An object that lives in an I/O thread and that is asked for things, by any thread: see
/// io_thread::ask(). What it can do is numbered, from 0 to 31.
class resident {
public:
    virtual ~resident() = default;
    /// In the I/O thread: does one thing. If it throws, as there is no memory, it is asked for the
    /// same again after a while: see io_thread::ask_later().
    virtual void do_request(unsigned number) = 0;

protected:
    resident() = default;
    resident(const resident&) = delete;
    resident& operator=(const resident&) = delete;

private:
    friend class io_thread;
    resident* next_ = nullptr;
    std::atomic<std::uint32_t> requests_{0}; ///< one bit for each; queued unless there are none
    std::shared_ptr<void> keep_alive_;       ///< while queued
};

/// One thread running one I/O context. Objects belong to the thread of their I/O context.
/// Thread safety: post through context(); start and stop from outside.
class io_thread {
public:
    io_thread() : io_(1), work_(io_.get_executor()) {}
    ~io_thread();
    io_thread(const io_thread&) = delete;
    io_thread& operator=(const io_thread&) = delete;

    /// 0 or the errno of making its reactor or the thread. Once.
    /// @throws boost::system::system_error, std::bad_alloc
    int start(int index, const thread_settings& settings);
    /// Stops the loop at once and joins.
    void stop() noexcept;

    boost::asio::io_context& context() noexcept { return io_; }
    /// Without a thread (thread_settings::stepped): runs one handler that is due; false if there is
    /// none.
    bool step();
    /// Waits until something that lives here has set `ended`.
    void await(const std::atomic<bool>& ended);
    /// Any other thread: waits until all has been done that its residents were asked for before;
    /// not for what has to wait for memory, see ask_later().
    void catch_up() noexcept;
    /// Any thread: has `whom` do something soon, after all that the caller has done so far; once,
    /// for all the times it is asked until then. What it was asked for together is done in the
    /// order of the numbers. `owner` keeps it alive. Needs no memory, so it cannot fail. The thread
    /// is woken once for all that is asked of its residents until it comes to it.
    void ask(resident& whom, unsigned number, std::shared_ptr<void> owner) noexcept;
    /// This thread: the same after a short pause, in which memory may come back. What it is asked
    /// for meanwhile has to wait as well. Needs no memory either.
    void ask_later(resident& whom, unsigned number, std::shared_ptr<void> owner) noexcept;

    /// Connections and listeners living here.
    std::atomic<int>& load() noexcept { return load_; }

private:
    using clock = std::chrono::steady_clock;

    static void* run(void* self);
    void run_handlers();
    /// Is asked last, and tells that its turn has come.
    struct last_asked final : resident {
        void do_request(unsigned) override
        {
            had_turn.store(true);
            had_turn.notify_all();
        }
        std::atomic<bool> had_turn{false};
    };

    void enlist(resident& whom) noexcept;
    void end_pause() noexcept;
    void come_soon() noexcept;
    void serve();
    resident* next_asked() noexcept;

    handler_room room_; ///< for the one handler that is posted here: in use while called_
    boost::asio::io_context io_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::atomic<int> load_{0};
    std::atomic<bool> called_{false};       ///< serve() is to come
    std::atomic<resident*> asked_{nullptr}; ///< the newest first
    resident* taken_ = nullptr;             ///< by this thread, the oldest first
    resident* paused_ = nullptr;            ///< they are asked when the pause ends
    clock::time_point pause_ends_{};        ///< while there are any
    std::mutex catching_up_; ///< one at a time: a request that waits already had an earlier place
    last_asked last_asked_;
    std::atomic<bool> stopping_{false};
    thread_settings settings_;
    std::string name_;
    pthread_t thread_{};
    bool running_ = false;
};

/// The I/O threads of a context.
class io_pool {
public:
    /// 0 or errno; on failure, also by an exception (memory, descriptors), nothing runs.
    int start(int threads, const thread_settings& settings);
    void stop() noexcept { threads_.clear(); }
    bool empty() const noexcept { return threads_.empty(); }
    /// As of each thread: see io_thread::catch_up().
    void catch_up() noexcept;
    /// The least loaded thread among those whose bit is set (0 = all); null if there is none.
    io_thread* choose(std::uint64_t affinity) noexcept;
    /// The thread of this context; null if there is none.
    io_thread* find(const boost::asio::io_context& context) noexcept;

private:
    std::vector<std::unique_ptr<io_thread>> threads_;
};

} // namespace zlink::runtime
