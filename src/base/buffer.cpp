// SPDX-License-Identifier: Apache-2.0
#include "base/buffer.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <pthread.h>
#include <thread>

namespace zlink::base {
namespace {

// Blocks between these sizes are kept for reuse: malloc would give their pages back to the system
// and every message would pay for mapping them again.
constexpr std::size_t smallest_pooled_bytes = 16 * 1024;
constexpr std::size_t largest_pooled_bytes = 1024 * 1024;
constexpr std::size_t steps_per_doubling = 4;
constexpr std::size_t kept_bytes = 4 * 1024 * 1024;

constexpr std::size_t class_bytes(std::size_t index)
{
    const std::size_t base = smallest_pooled_bytes << (index / steps_per_doubling);
    return base + base / steps_per_doubling * (index % steps_per_doubling);
}

constexpr std::size_t class_of(std::size_t bytes)
{
    if (bytes <= smallest_pooled_bytes)
        return 0;
    const std::size_t doubling =
        static_cast<std::size_t>(std::bit_width((bytes - 1) / smallest_pooled_bytes)) - 1;
    const std::size_t base = smallest_pooled_bytes << doubling;
    const std::size_t step = base / steps_per_doubling;
    return doubling * steps_per_doubling + (bytes - base + step - 1) / step;
}

constexpr std::size_t class_count = class_of(largest_pooled_bytes) + 1;
static_assert(class_bytes(class_of(65536 + 1)) >= 65536 + 1);
static_assert(class_bytes(class_of(16384)) == 16384);

// A block that comes back is still in the caches and mapped; a new one is neither. When a lot is on
// its way already, it is worth waiting this many turns for a block that is about to come back.
constexpr std::size_t plenty_bytes = 2 * 1024 * 1024;
constexpr int turns_to_wait = 16;

class block_pool {
public:
    void* take_or_wait(std::size_t index) noexcept
    {
        void* block = take(index);
        if (!block && outstanding_bytes_.load(std::memory_order_relaxed) > plenty_bytes) {
            for (int turn = 0; turn < turns_to_wait && !block; ++turn) {
                std::this_thread::yield(); // to the thread that has the blocks
                if (kept_.load(std::memory_order_relaxed) != 0)
                    block = take(index);
            }
        }
        outstanding_bytes_.fetch_add(class_bytes(index), std::memory_order_relaxed);
        return block;
    }

    void* take(std::size_t index) noexcept
    {
        std::lock_guard lock(mutex_);
        node* first = free_[index];
        if (!first)
            return nullptr;
        free_[index] = first->next;
        bytes_ -= class_bytes(index);
        kept_.store(bytes_, std::memory_order_relaxed);
        return first;
    }

    bool give(void* memory, std::size_t index) noexcept
    {
        outstanding_bytes_.fetch_sub(class_bytes(index), std::memory_order_relaxed);
        std::lock_guard lock(mutex_);
        if (bytes_ + class_bytes(index) > kept_bytes)
            return false;
        free_[index] = new (memory) node{free_[index]};
        bytes_ += class_bytes(index);
        kept_.store(bytes_, std::memory_order_relaxed);
        return true;
    }

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    struct node {
        node* next;
    };
    std::mutex mutex_;
    std::array<node*, class_count> free_{};
    std::size_t bytes_ = 0;
    std::atomic<std::size_t> kept_{0};
    std::atomic<std::size_t> outstanding_bytes_{0}; ///< given out and not come back
};

// Constant-initialised and never destroyed: messages may outlive every static object.
union pool_storage {
    block_pool pool;
    constexpr pool_storage() : pool() {}
    ~pool_storage() {}
};
constinit pool_storage storage;

// A child that is forked while another thread is inside finds it in order.
[[maybe_unused]] const int kept_over_fork = ::pthread_atfork(
    [] { storage.pool.lock(); }, [] { storage.pool.unlock(); }, [] { storage.pool.unlock(); });

constexpr std::size_t header_bytes = (sizeof(buffer) + alignof(std::max_align_t) - 1) /
                                     alignof(std::max_align_t) * alignof(std::max_align_t);

} // namespace

buffer* allocate_buffer(std::size_t bytes) noexcept
{
    if (bytes > SIZE_MAX / 2 - header_bytes)
        return nullptr;
    std::size_t total = bytes + header_bytes;
    std::uint16_t size_class = buffer::unpooled;
    void* memory = nullptr;
    if (total >= smallest_pooled_bytes && total <= largest_pooled_bytes) {
        size_class = static_cast<std::uint16_t>(class_of(total));
        total = class_bytes(size_class);
        memory = storage.pool.take_or_wait(size_class);
    }
    if (!memory)
        memory = std::malloc(total);
    if (!memory)
        return nullptr;
    return new (memory) buffer{static_cast<std::byte*>(memory) + header_bytes,
                               total - header_bytes,
                               1,
                               size_class,
                               false,
                               false,
                               nullptr,
                               nullptr};
}

buffer* wrap_user_memory(void* data, std::size_t bytes, free_function free, void* hint) noexcept
{
    void* memory = std::malloc(sizeof(buffer));
    if (!memory)
        return nullptr;
    return new (memory)
        buffer{static_cast<std::byte*>(data), bytes, 1, buffer::unpooled, true, false, free, hint};
}

void destroy_buffer(buffer* block) noexcept
{
    if (block->user_owned && block->free)
        block->free(block->data, block->hint);
    const std::uint16_t size_class = block->size_class;
    block->~buffer();
    if (size_class != buffer::unpooled && storage.pool.give(block, size_class))
        return;
    std::free(block);
}

} // namespace zlink::base
