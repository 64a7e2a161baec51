// SPDX-License-Identifier: Apache-2.0
#include "support/scarce_memory.hpp"

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/prctl.h>

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

constexpr long any_number = -1;

// For this thread.
thread_local std::size_t refused_bytes = SIZE_MAX; // and all that is more
thread_local long allocations_left = any_number;
thread_local bool once = false; // after that there is memory again

thread_local int exempt = 0; // memory_of_test

// For all I/O threads together.
std::atomic<long> io_allocations_left{any_number};

// A thread gets its name when it begins.
bool is_io_thread() noexcept
{
    char name[16] = {};
    return ::prctl(PR_GET_NAME, name) == 0 && std::strncmp(name, "ZMQbg/IO", 8) == 0;
}

bool refuses(std::size_t bytes) noexcept
{
    if (exempt != 0)
        return false;
    if (io_allocations_left.load(std::memory_order_relaxed) != any_number && is_io_thread() &&
        io_allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0)
        return true; // the number is any_number now
    if (bytes >= refused_bytes)
        return true;
    if (allocations_left == any_number)
        return false;
    if (allocations_left > 0) {
        --allocations_left;
        return false;
    }
    if (once)
        allocations_left = any_number;
    return true;
}

} // namespace

extern "C" void* malloc(std::size_t bytes)
{
    if (!refuses(bytes))
        return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}

namespace zlink::test {

no_memory::no_memory(std::size_t from_bytes) noexcept
{
    refused_bytes = from_bytes;
}

no_memory::~no_memory()
{
    refused_bytes = SIZE_MAX;
}

memory_for::memory_for(long allocations) noexcept
{
    allocations_left = allocations;
}

memory_for::~memory_for()
{
    allocations_left = any_number;
}

io_memory_but_once::io_memory_but_once(long allocations_before) noexcept
{
    io_allocations_left = allocations_before;
}

io_memory_but_once::~io_memory_but_once()
{
    io_allocations_left = any_number;
}

bool io_memory_but_once::was_refused() const noexcept
{
    return io_allocations_left.load() < 0;
}

memory_but_once::memory_but_once(long allocations_before) noexcept
{
    allocations_left = allocations_before;
    once = true;
}

memory_but_once::~memory_but_once()
{
    allocations_left = any_number;
    once = false;
}

bool memory_but_once::was_refused() const noexcept
{
    return allocations_left == any_number;
}

memory_of_test::memory_of_test() noexcept
{
    ++exempt;
}

memory_of_test::~memory_of_test()
{
    --exempt;
}

} // namespace zlink::test

#else

namespace zlink::test {

memory_of_test::memory_of_test() noexcept = default;
memory_of_test::~memory_of_test() = default;

} // namespace zlink::test

#endif
