// SPDX-License-Identifier: Apache-2.0
#include "support/scarce_memory.hpp"

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/prctl.h>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
}

namespace {

constexpr long any_number = -1;

// For this thread.
thread_local std::size_t refused_bytes = SIZE_MAX; // and all that is more
thread_local long allocations_left = any_number;
thread_local bool ends_after_refusal = false;
thread_local long left_after_refusal = any_number; // then
thread_local bool has_refused = false;

thread_local int exempt = 0; // memory_of_test
thread_local long blocks = 0;

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
    has_refused = true;
    if (ends_after_refusal)
        allocations_left = left_after_refusal;
    return true;
}

// `allocate` is called if there is memory.
template <class Allocate>
void* counted(std::size_t bytes, Allocate allocate) noexcept
{
    if (refuses(bytes)) {
        errno = ENOMEM;
        return nullptr;
    }
    void* const block = allocate();
    blocks += block != nullptr;
    return block;
}

} // namespace

extern "C" {

void* malloc(std::size_t bytes)
{
    return counted(bytes, [=] { return __libc_malloc(bytes); });
}

void* calloc(std::size_t count, std::size_t bytes)
{
    return counted(count * bytes, [=] { return __libc_calloc(count, bytes); });
}

void* realloc(void* block, std::size_t bytes)
{
    if (!block)
        return malloc(bytes);
    if (bytes == 0) {
        free(block);
        return nullptr;
    }
    if (!refuses(bytes))
        return __libc_realloc(block, bytes);
    errno = ENOMEM;
    return nullptr;
}

void* memalign(std::size_t alignment, std::size_t bytes)
{
    return counted(bytes, [=] { return __libc_memalign(alignment, bytes); });
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes)
{
    void* const made = memalign(alignment, bytes);
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

void free(void* block)
{
    blocks -= block != nullptr;
    __libc_free(block);
}
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

interrupted_memory::interrupted_memory(long allocations_before, long allocations_after) noexcept
{
    allocations_left = allocations_before;
    left_after_refusal = allocations_after;
    ends_after_refusal = true;
    has_refused = false;
}

interrupted_memory::~interrupted_memory()
{
    allocations_left = any_number;
    ends_after_refusal = false;
}

bool interrupted_memory::was_refused() const noexcept
{
    return has_refused;
}

memory_but_once::memory_but_once(long allocations_before) noexcept
    : interrupted_memory(allocations_before, any_number)
{}

memory_but_each_third::memory_but_each_third(long allocations_before) noexcept
    : interrupted_memory(allocations_before, 2)
{}

long blocks_in_use() noexcept
{
    return blocks;
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
