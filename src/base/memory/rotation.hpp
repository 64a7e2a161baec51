// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

namespace zlink::base {

/// Blocks that wait for their next use, first in, first out.
/// Thread safety: any thread.
template <class Block, std::size_t Most>
class rotation {
public:
    /// The block that has waited longest; null if fewer than `least` wait, or none.
    Block* take(std::size_t least) noexcept
    {
        std::lock_guard lock(mutex_);
        if (count_ == 0 || count_ < least)
            return nullptr;
        --count_;
        return blocks_[std::exchange(first_, (first_ + 1) % Most)];
    }
    /// False if there are enough.
    bool give(Block* block) noexcept
    {
        std::lock_guard lock(mutex_);
        if (count_ == Most)
            return false;
        blocks_[(first_ + count_++) % Most] = block;
        return true;
    }

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    std::mutex mutex_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::array<Block*, Most> blocks_{};
};

} // namespace zlink::base
