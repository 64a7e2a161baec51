// SPDX-License-Identifier: Apache-2.0
#include "base/memory/secret.hpp"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace zlink::base {
namespace {

// Blocks of one size, in pages of their own that are kept for the next ones: they were locked
// already, and there is a limit for how much of a process can be.
class block_list {
public:
    explicit constexpr block_list(std::size_t block_bytes) noexcept : block_bytes_(block_bytes) {}

    void* allocate()
    {
        const std::lock_guard lock(mutex_);
        if (!free_)
            add_page();
        node* const block = free_;
        free_ = block->next;
        block->next = nullptr;
        return block;
    }
    void release(void* block) noexcept
    {
        wipe(block, block_bytes_);
        const std::lock_guard lock(mutex_);
        free_ = new (block) node{free_};
    }

private:
    struct node {
        node* next;
    };

    void add_page()
    {
        const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* const page =
            mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            throw std::bad_alloc();
        // Where the system does not allow it the page is as good as any other.
        static_cast<void>(mlock(page, page_bytes));
        static_cast<void>(madvise(page, page_bytes, MADV_DONTDUMP));
        auto* const bytes = static_cast<std::byte*>(page);
        for (std::size_t at = 0; at + block_bytes_ <= page_bytes; at += block_bytes_)
            free_ = new (bytes + at) node{free_};
    }

    const std::size_t block_bytes_;
    std::mutex mutex_;
    node* free_ = nullptr;
};

constexpr std::size_t smallest_bytes = 64;

// Of 64, 128, 256 and 512 bytes. Never destroyed: the library may be in use until the process ends.
block_list& list_for(std::size_t bytes) noexcept
{
    static block_list lists[] = {block_list(smallest_bytes), block_list(2 * smallest_bytes),
                                 block_list(4 * smallest_bytes), block_list(8 * smallest_bytes)};
    std::size_t index = 0;
    while (bytes > smallest_bytes << index)
        ++index;
    return lists[index];
}

} // namespace

void wipe(void* bytes, std::size_t size) noexcept
{
    if (size) // it may be null then
        explicit_bzero(bytes, size);
}

void* secret_memory::allocate(std::size_t bytes)
{
    if (bytes > max_bytes)
        throw std::bad_alloc();
    return list_for(bytes).allocate();
}

void secret_memory::release(void* block, std::size_t bytes) noexcept
{
    list_for(bytes).release(block);
}

secret::secret(std::span<const std::byte> bytes) : size_(bytes.size())
{
    if (bytes.empty())
        return;
    block_ = std::shared_ptr<void>(secret_memory::allocate(size_), [size = size_](void* block) {
        secret_memory::release(block, size);
    });
    std::memcpy(block_.get(), bytes.data(), size_);
}

} // namespace zlink::base
