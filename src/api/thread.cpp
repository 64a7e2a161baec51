// SPDX-License-Identifier: Apache-2.0
#include "base/system/no_cancellation.hpp"

#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#if !defined _WIN32
#include <csignal>
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

/// @throws std::bad_alloc, std::system_error
std::unique_ptr<std::thread> start(zmq_thread_fn* func, void* arg)
{
    auto thread = std::make_unique<std::thread>();
    const signal_block blocked;
    *thread = std::thread(func, arg);
    return thread;
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
    const zlink::base::no_cancellation whole;
    const std::unique_ptr<std::thread> owned(static_cast<std::thread*>(thread));
    if (owned == nullptr) {
        return;
    }
    if (owned->get_id() == std::this_thread::get_id()) {
        // A thread that closes itself cannot be waited for; let it run to its end on its own.
        owned->detach();
    } else {
        owned->join();
    }
}
