// SPDX-License-Identifier: Apache-2.0
#include "base/system/sockets_of_parent.hpp"
#include "base/system/no_cancellation.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace zlink::base {
namespace {

// Inode numbers of sockets by descriptor. Without a lock, so that there is none to be taken over a
// fork; blocks are never freed. 0: none.
constexpr std::size_t block_size = 1024;
constexpr std::size_t block_count = 1024; ///< the kernel's default limit is 2^20 descriptors
struct block {
    std::atomic<std::uint64_t> inodes[block_size]{};
};
constinit std::atomic<block*> blocks[block_count]{};

std::uint64_t socket_inode(int fd) noexcept
{
    struct stat found {};
    return ::fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode) ? found.st_ino : 0;
}

// Where it is kept for a descriptor; null if it cannot be.
std::atomic<std::uint64_t>* inode_of(int fd) noexcept
{
    const auto number = static_cast<std::size_t>(fd);
    if (fd < 0 || number >= block_size * block_count)
        return nullptr;
    std::atomic<block*>& place = blocks[number / block_size];
    block* found = place.load(std::memory_order_acquire);
    if (!found) {
        std::unique_ptr<block> made(new (std::nothrow) block);
        if (!made)
            return nullptr;
        if (place.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel))
            found = made.release();
    }
    return &found->inodes[number % block_size];
}

// In the child of a fork. The connection is still that of the parent: nothing but close(2), which
// takes the copy only, may be called.
void close_all() noexcept
{
    const no_cancellation whole;
    for (std::size_t first = 0; first < block_count * block_size; first += block_size) {
        block* const kept = blocks[first / block_size].load(std::memory_order_relaxed);
        for (std::size_t index = 0; kept && index < block_size; ++index) {
            const std::uint64_t inode = kept->inodes[index].load(std::memory_order_relaxed);
            const int fd = static_cast<int>(first + index);
            if (inode != 0 && socket_inode(fd) == inode)
                ::close(fd);
        }
    }
}

[[maybe_unused]] const int closed_over_fork = ::pthread_atfork(nullptr, nullptr, close_all);

} // namespace

void close_in_children(int fd) noexcept
{
    if (std::atomic<std::uint64_t>* const inode = inode_of(fd))
        inode->store(socket_inode(fd), std::memory_order_relaxed);
}

void close_in_children_too(int duplicate, int fd) noexcept
{
    const std::atomic<std::uint64_t>* const inode = inode_of(fd);
    std::atomic<std::uint64_t>* const its_own = inode_of(duplicate);
    if (inode && its_own)
        its_own->store(inode->load(std::memory_order_relaxed), std::memory_order_relaxed);
}

} // namespace zlink::base
