// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#if !defined _WIN32
#include <csignal>
#include <pthread.h>
#endif

#include <zmq.h>

namespace zlink::api {
namespace {

/// Blocks every signal in the calling thread while it lives. A thread inherits the mask of its
/// creator, so signals keep going to the application's own threads.
class signal_block {
public:
#if defined _WIN32
    signal_block() {}
#else
    signal_block()
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &previous_);
    }
    ~signal_block()
    {
        pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    }
#endif
    signal_block(const signal_block&) = delete;
    signal_block& operator=(const signal_block&) = delete;

private:
#if !defined _WIN32
    sigset_t previous_{};
#endif
};

/// How many forks have led from the first process to this one.
std::atomic<unsigned> generation{0};

#if !defined _WIN32
[[maybe_unused]] const int counted_over_fork =
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
#endif

struct started_thread {
    std::thread thread;
    const unsigned generation = api::generation.load(std::memory_order_relaxed);
};

/// @throws std::bad_alloc, std::system_error
std::unique_ptr<started_thread> start(zmq_thread_fn* func, void* arg)
{
    auto started = std::make_unique<started_thread>();
    const signal_block blocked;
    started->thread = std::thread(func, arg);
    return started;
}

} // namespace
} // namespace zlink::api

void* zmq_threadstart(zmq_thread_fn* func, void* arg)
{
    if (func == nullptr) {
        errno = EFAULT;
        return nullptr;
    }
    try {
        return zlink::api::start(func, arg).release();
    } catch (const std::system_error&) {
        errno = EAGAIN;
    } catch (const std::exception&) {
        errno = ENOMEM;
    }
    return nullptr;
}

void zmq_threadclose(void* thread)
{
    using namespace zlink::api;
    std::unique_ptr<started_thread> owned(static_cast<started_thread*>(thread));
    if (owned == nullptr) {
        return;
    }
    if (owned->generation != generation.load(std::memory_order_relaxed)) {
        // A thread of the process that forked this one: there is nothing to wait for, and what
        // stands for it must not be destroyed as long as it could be waited for.
        static_cast<void>(owned.release());
    } else if (owned->thread.get_id() == std::this_thread::get_id()) {
        // A thread that closes itself cannot be waited for; let it run to its end on its own.
        owned->thread.detach();
    } else {
        owned->thread.join();
    }
}
