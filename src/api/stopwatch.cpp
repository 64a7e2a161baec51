// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <chrono>
#include <new>

#if defined _WIN32
#include <thread>
#else
#include <ctime>
#endif

#include <zmq.h>

namespace zlink::api {
namespace {

using clock = std::chrono::steady_clock;

} // namespace
} // namespace zlink::api

void* zmq_stopwatch_start()
{
    using zlink::api::clock;
    auto* started = new (std::nothrow) clock::time_point(clock::now());
    if (started == nullptr) {
        errno = ENOMEM;
    }
    return started;
}

unsigned long zmq_stopwatch_intermediate(void* watch)
{
    using zlink::api::clock;
    if (watch == nullptr) {
        return 0;
    }
    const auto passed = clock::now() - *static_cast<clock::time_point*>(watch);
    return static_cast<unsigned long>(
        std::chrono::duration_cast<std::chrono::microseconds>(passed).count());
}

unsigned long zmq_stopwatch_stop(void* watch)
{
    const auto passed_us = zmq_stopwatch_intermediate(watch);
    delete static_cast<zlink::api::clock::time_point*>(watch);
    return passed_us;
}

void zmq_sleep(int seconds)
{
    if (seconds <= 0) {
        return;
    }
#if defined _WIN32
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
#else
    // Not resumed after a signal: programs rely on Ctrl-C ending the sleep early.
    timespec duration{};
    duration.tv_sec = seconds;
    nanosleep(&duration, nullptr);
#endif
}
