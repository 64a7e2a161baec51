// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <new>

#include <zmq.h>

namespace zlink::api {
namespace {

using counter = std::atomic<int>;

counter* as_counter(void* handle)
{
    return static_cast<counter*>(handle);
}

} // namespace
} // namespace zlink::api

using zlink::api::as_counter;

void* zmq_atomic_counter_new()
{
    auto* created = new (std::nothrow) zlink::api::counter(0);
    if (created == nullptr) {
        errno = ENOMEM;
    }
    return created;
}

void zmq_atomic_counter_set(void* counter, int value)
{
    if (counter != nullptr) {
        as_counter(counter)->store(value);
    }
}

int zmq_atomic_counter_inc(void* counter)
{
    return counter == nullptr ? 0 : as_counter(counter)->fetch_add(1);
}

int zmq_atomic_counter_dec(void* counter)
{
    return counter != nullptr && as_counter(counter)->fetch_sub(1) != 1;
}

int zmq_atomic_counter_value(void* counter)
{
    return counter == nullptr ? 0 : as_counter(counter)->load();
}

void zmq_atomic_counter_destroy(void** counter_p)
{
    if (counter_p != nullptr) {
        delete as_counter(*counter_p);
        *counter_p = nullptr;
    }
}
