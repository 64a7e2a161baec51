// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
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
};

/// Something an I/O thread is asked to do again and again. It is queued at most once at a time.
class errand {
public:
    virtual ~errand() = default;
    /// In the I/O thread.
    virtual void run() = 0;

protected:
    errand() = default;
    errand(const errand&) = delete;
    errand& operator=(const errand&) = delete;

private:
    friend class io_thread;
    errand* next_ = nullptr;
    std::atomic<bool> queued_{false};
    std::shared_ptr<void> keep_alive_; ///< while queued
};

/// One thread running one I/O context. Objects belong to the thread of their I/O context.
/// Thread safety: post through context(); start and stop from outside.
class io_thread {
public:
    io_thread() : io_(1), work_(io_.get_executor()) {}
    ~io_thread();
    io_thread(const io_thread&) = delete;
    io_thread& operator=(const io_thread&) = delete;

    /// 0 or the errno of thread creation.
    int start(int index, const thread_settings& settings);
    /// Stops the loop at once and joins.
    void stop() noexcept;

    boost::asio::io_context& context() noexcept { return io_; }
    /// Any thread: has `what` run soon, after all that the caller has done so far; `owner` keeps it
    /// alive. The thread is woken once for all that is handed over until it comes to it.
    void hand_over(errand& what, std::shared_ptr<void> owner);

    /// Connections and listeners living here.
    std::atomic<int>& load() noexcept { return load_; }

private:
    static void* run(void* self);
    void run_errands();
    errand* next_errand() noexcept;

    boost::asio::io_context io_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::atomic<int> load_{0};
    std::atomic<errand*> handed_over_{nullptr}; ///< the newest first
    errand* taken_ = nullptr;                   ///< by this thread, the oldest first
    bool continuing_ = false;                   ///< the rest of them is to be done later
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
    /// The least loaded thread among those whose bit is set (0 = all); null if there is none.
    io_thread* choose(std::uint64_t affinity) noexcept;

private:
    std::vector<std::unique_ptr<io_thread>> threads_;
};

} // namespace zlink::runtime
