// SPDX-License-Identifier: Apache-2.0
#include "live_memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <sanitizer/asan_interface.h>

namespace {

thread_local bool is_counting = false;
thread_local std::size_t live = 0;

// In front of each block; sanitizers are told that nobody else may touch it.
struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) head {
    std::size_t counted_bytes;
};

} // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
    if (bytes > SIZE_MAX - sizeof(head))
        return nullptr;
    auto* const block = static_cast<head*>(std::malloc(sizeof(head) + bytes));
    if (!block)
        return nullptr;
    block->counted_bytes = is_counting ? bytes : 0;
    live += block->counted_bytes;
    ASAN_POISON_MEMORY_REGION(block, sizeof(head));
    return block + 1;
}

void* operator new(std::size_t bytes)
{
    if (void* const block = operator new(bytes, std::nothrow))
        return block;
    throw std::bad_alloc();
}

void operator delete(void* bytes) noexcept
{
    if (!bytes)
        return;
    auto* const block = static_cast<head*>(bytes) - 1;
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof(head));
    live -= block->counted_bytes;
    std::free(block);
}

void operator delete(void* bytes, std::size_t) noexcept
{
    operator delete(bytes);
}

void operator delete(void* bytes, const std::nothrow_t&) noexcept
{
    operator delete(bytes);
}

namespace zlink::fuzz {

memory_counting::memory_counting(bool counted) noexcept : before_(is_counting)
{
    is_counting = counted;
}

memory_counting::~memory_counting()
{
    is_counting = before_;
}

std::size_t live_bytes() noexcept
{
    return live;
}

} // namespace zlink::fuzz
