// SPDX-License-Identifier: Apache-2.0
#include "base/memory/buffer.hpp"

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include "base/memory/rotation.hpp"
#include "base/memory/thread_own.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace zlink::base {
namespace {

constexpr std::size_t class_bytes(std::size_t index)
{
    const std::size_t base = tuning::pool::min_block_bytes
                             << (index / tuning::pool::steps_per_doubling);
    return base +
           base / tuning::pool::steps_per_doubling * (index % tuning::pool::steps_per_doubling);
}

constexpr std::size_t class_of(std::size_t bytes)
{
    if (bytes <= tuning::pool::min_block_bytes)
        return 0;
    const std::size_t doubling =
        static_cast<std::size_t>(std::bit_width((bytes - 1) / tuning::pool::min_block_bytes)) - 1;
    const std::size_t base = tuning::pool::min_block_bytes << doubling;
    const std::size_t step = base / tuning::pool::steps_per_doubling;
    return doubling * tuning::pool::steps_per_doubling + (bytes - base + step - 1) / step;
}

constexpr std::size_t class_count = class_of(tuning::pool::max_block_bytes) + 1;
static_assert(class_bytes(class_of(65536 + 1)) >= 65536 + 1);
static_assert(class_bytes(class_of(16384)) == 16384);

// A block that comes back is still in the caches and mapped; a new one is neither. When a lot is on
// its way already, it is worth yielding this many times for a block that is about to come back. If
// none does, the application may keep them all, and the next ones are asked for without a wait.
class block_pool {
public:
    void* take_or_wait(std::size_t index) noexcept
    {
        void* block = take(index);
        if (!block && rule_is_on(rule::pool_wait) &&
            outstanding_bytes_.load(std::memory_order_relaxed) > tuning::pool::min_bytes_to_wait)
            block = wait_for(index);
        outstanding_bytes_.fetch_add(class_bytes(index), std::memory_order_relaxed);
        return block;
    }

    void* wait_for(std::size_t index) noexcept
    {
        const unsigned without = without_wait_.load(std::memory_order_relaxed);
        if (without != 0) {
            without_wait_.store(without - 1, std::memory_order_relaxed);
            return nullptr;
        }
        const auto until = std::chrono::steady_clock::now() + tuning::pool::max_wait;
        for (int yields = 0; yields < tuning::pool::max_yields; ++yields) {
            if (yields != 0 && std::chrono::steady_clock::now() > until)
                break;
            std::this_thread::yield(); // to the thread that has the blocks
            if (kept_.load(std::memory_order_relaxed) == 0)
                continue;
            if (void* const block = take(index)) {
                vain_waits_.store(0, std::memory_order_relaxed);
                return block;
            }
        }
        const unsigned vain = vain_waits_.load(std::memory_order_relaxed);
        without_wait_.store(std::min(1U << vain, tuning::pool::max_blocks_without_wait),
                            std::memory_order_relaxed);
        vain_waits_.store(std::min(vain + 1, 16U), std::memory_order_relaxed);
        return nullptr;
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
        if (bytes_ + class_bytes(index) > tuning::pool::kept_bytes)
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
    // Threads that overwrite each other's counts wait once more or once less.
    std::atomic<unsigned> vain_waits_{0};   ///< one after the other
    std::atomic<unsigned> without_wait_{0}; ///< so many blocks more are not waited for
};

// Small blocks come and go with every message that an application holds as a zmq_msg_t, mostly in
// one thread: each thread keeps some of its own. A sanitizer is to see every block come and go.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kept_by_thread_bytes = 0;
#else
using tuning::pool::kept_by_thread_bytes;
#endif
constexpr std::size_t largest_small_bytes =
    tuning::pool::small_step_bytes * tuning::pool::small_classes;

constexpr std::size_t small_class_of(std::size_t bytes)
{
    return (bytes - 1) / tuning::pool::small_step_bytes;
}
constexpr std::size_t small_class_bytes(std::size_t index)
{
    return (index + 1) * tuning::pool::small_step_bytes;
}
/// tuning::pool::small_classes or more if it is not small.
std::size_t small_class_of(const buffer& block) noexcept
{
    return std::size_t{block.size_class} - buffer::first_small_class;
}

/// The small blocks a thread keeps, as they are but for their references; `hint` leads to the next.
class thread_blocks {
public:
    ~thread_blocks()
    {
        for (buffer*& first : free_)
            while (first)
                std::free(std::exchange(first, static_cast<buffer*>(first->hint)));
        std::free(last_resort);
        std::free(set_aside);
    }

    /// A new block of the largest class, for when there is no memory; or null.
    buffer* last_resort = nullptr;
    /// Of class certain_memory; or null.
    buffer* set_aside = nullptr;

    buffer* take(std::size_t index) noexcept
    {
        buffer* const first = free_[index];
        if (first) {
            free_[index] = static_cast<buffer*>(first->hint);
            bytes_ -= small_class_bytes(index);
        }
        return first;
    }

    /// False if it keeps enough already.
    bool give(buffer* block, std::size_t index) noexcept
    {
        const std::size_t bytes = bytes_ + small_class_bytes(index);
        if (bytes > kept_by_thread_bytes) [[unlikely]]
            return false;
        block->hint = std::exchange(free_[index], block);
        bytes_ = bytes;
        return true;
    }

private:
    std::size_t bytes_ = 0;
    buffer* free_[tuning::pool::small_classes] = {};
};

using own_blocks = thread_own<thread_blocks>;
const own_blocks keep_own_blocks;

using rotating_blocks =
    rotation<buffer, tuning::queue::max_rotating_bytes / tuning::queue::max_chunk_bytes>;

// Constant-initialised and never destroyed: messages may outlive every static object.
struct block_stock {
    block_pool pool;
    rotating_blocks rotating;

    void lock()
    {
        pool.lock();
        rotating.lock();
    }
    void unlock()
    {
        rotating.unlock();
        pool.unlock();
    }
};
union stock_storage {
    block_stock stock;
    constexpr stock_storage() : stock() {}
    ~stock_storage() {}
};
constinit stock_storage storage;

// A child that is forked while another thread is inside finds it in order.
[[maybe_unused]] const int kept_over_fork = ::pthread_atfork(
    [] { storage.stock.lock(); }, [] { storage.stock.unlock(); }, [] { storage.stock.unlock(); });

constexpr std::size_t header_bytes = (sizeof(buffer) + alignof(std::max_align_t) - 1) /
                                     alignof(std::max_align_t) * alignof(std::max_align_t);

} // namespace

namespace {

// A block of `total` bytes with the header.
buffer* make_block(void* memory, std::size_t total, std::uint16_t size_class) noexcept
{
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
                               nullptr,
                               {}};
}

buffer* make_small_block(std::size_t index) noexcept
{
    return make_block(nullptr, small_class_bytes(index),
                      static_cast<std::uint16_t>(buffer::first_small_class + index));
}

[[gnu::noinline]] buffer* make_small_block(std::size_t index, thread_blocks* own) noexcept
{
    buffer* const made = make_small_block(index);
    return made || !own ? made : std::exchange(own->last_resort, nullptr);
}

[[gnu::noinline]] std::size_t make_certain() noexcept
{
    thread_blocks* own = own_blocks::find();
    if (!own)
        own = own_blocks::make();
    if (!own)
        return 0;
    own->last_resort = make_small_block(tuning::pool::small_classes - 1);
    return own->last_resort ? largest_small_bytes - header_bytes : 0;
}

[[gnu::noinline]] buffer* allocate_large_buffer(std::size_t bytes) noexcept
{
    if (bytes > SIZE_MAX / 2 - header_bytes)
        return nullptr;
    const std::size_t total = bytes + header_bytes;
    if (total < tuning::pool::min_block_bytes || total > tuning::pool::max_block_bytes)
        return make_block(nullptr, total, buffer::unpooled);
    const std::size_t index = class_of(total);
    return make_block(storage.stock.pool.take_or_wait(index), class_bytes(index),
                      static_cast<std::uint16_t>(index));
}

// One that the thread cannot keep, or not yet.
[[gnu::noinline]] void destroy_otherwise(buffer* block) noexcept
{
    const std::size_t index = small_class_of(*block);
    if (index < tuning::pool::small_classes) {
        if (thread_blocks* const own = own_blocks::find() ? nullptr : own_blocks::make())
            if (own->give(block, index))
                return;
        return std::free(block);
    }
    if (block->user_owned && block->free)
        block->free(block->data, block->hint);
    const std::uint16_t size_class = block->size_class;
    if (size_class == buffer::rotating && storage.stock.rotating.give(block))
        return;
    block->~buffer();
    if (size_class < class_count && storage.stock.pool.give(block, size_class))
        return;
    std::free(block);
}

} // namespace

buffer* allocate_buffer(std::size_t bytes) noexcept
{
    if (bytes > largest_small_bytes - header_bytes)
        return allocate_large_buffer(bytes);
    const std::size_t index = small_class_of(bytes + header_bytes);
    thread_blocks* const own = own_blocks::find();
    buffer* const block = own ? own->take(index) : nullptr;
    if (!block) [[unlikely]]
        return make_small_block(index, own);
    block->references.store(1, std::memory_order_relaxed);
    block->shared.store(false, std::memory_order_relaxed);
    return block;
}

buffer* allocate_rotating_buffer(std::size_t waiting_bytes) noexcept
{
    const std::size_t each = tuning::queue::max_chunk_bytes;
    buffer* const block = storage.stock.rotating.take((waiting_bytes + each - 1) / each);
    if (!block)
        return make_block(nullptr, header_bytes + each, buffer::rotating);
    block->references.store(1, std::memory_order_relaxed);
    block->shared.store(false, std::memory_order_relaxed);
    return block;
}

std::size_t certain_bytes() noexcept
{
    const thread_blocks* const own = own_blocks::find();
    return own && own->last_resort ? largest_small_bytes - header_bytes : make_certain();
}

certain_memory::certain_memory(std::size_t bytes) noexcept
{
    thread_blocks* const own = own_blocks::find_or_make();
    ready_ = own && own->set_aside && own->set_aside->capacity_bytes >= bytes;
    if (ready_ || !own || bytes > SIZE_MAX / 2 - header_bytes) [[likely]]
        return;
    std::free(own->set_aside);
    const std::size_t total = header_bytes + bytes;
    own->set_aside =
        make_block(nullptr, total < tuning::pool::max_block_bytes ? std::bit_ceil(total) : total,
                   buffer::unpooled);
    ready_ = own->set_aside;
}

certain_memory::~certain_memory()
{
    thread_blocks* const own = own_blocks::find();
    if (own && own->set_aside && own->set_aside->capacity_bytes > tuning::pool::max_block_bytes)
        std::free(std::exchange(own->set_aside, nullptr));
}

buffer* certain_memory::allocate(std::size_t bytes) noexcept
{
    buffer* const block = allocate_buffer(bytes);
    return block ? block : std::exchange(own_blocks::find()->set_aside, nullptr);
}

buffer* wrap_user_memory(void* data, std::size_t bytes, free_function free, void* hint) noexcept
{
    void* memory = std::malloc(sizeof(buffer));
    if (!memory)
        return nullptr;
    return new (memory) buffer{
        static_cast<std::byte*>(data), bytes, 1, buffer::unpooled, true, false, free, hint, {}};
}

void destroy_buffer(buffer* block) noexcept
{
    const std::size_t index = small_class_of(*block);
    thread_blocks* const own = own_blocks::find();
    if (index >= tuning::pool::small_classes || !own || !own->give(block, index)) [[unlikely]]
        destroy_otherwise(block);
}

} // namespace zlink::base
