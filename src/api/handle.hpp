// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace zlink::api {

/// The void* the application holds: not an address but a slot number and the generation of its use,
/// so a stale or made-up handle is found out without touching memory that is not ours.
///
/// Thread safety: any thread. get() is lock-free; what it returns stays valid until remove().
template <class Object>
class handle_table {
public:
    /// Null if the table is full or memory is exhausted (`object` is not kept then).
    void* add(std::shared_ptr<Object> object) noexcept
    {
        try {
            std::lock_guard lock(mutex_);
            std::uint32_t index = 0;
            if (!free_.empty()) {
                index = free_.back();
                free_.pop_back();
            } else {
                if (used_ == block_count * block_slots)
                    return nullptr;
                free_.reserve(used_ + 1); // so that remove() cannot fail
                index = used_;
                if (index % block_slots == 0)
                    blocks_[index / block_slots].store(new slot[block_slots],
                                                       std::memory_order_release);
                ++used_;
            }
            slot& at = *find(index);
            at.owner = std::move(object);
            at.object.store(at.owner.get(), std::memory_order_release);
            return encode(index, at.generation.load(std::memory_order_relaxed));
        } catch (...) {
            return nullptr;
        }
    }

    /// Null if the handle is not (or no longer) one of this table.
    Object* get(const void* handle) const noexcept
    {
        slot* const at = check(handle);
        return at ? at->object.load(std::memory_order_acquire) : nullptr;
    }

    std::shared_ptr<Object> share(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        return at ? at->owner : nullptr;
    }

    /// Takes the object out; the handle is invalid from now on.
    std::shared_ptr<Object> remove(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        if (!at)
            return nullptr;
        at->generation.fetch_add(1, std::memory_order_acq_rel);
        at->object.store(nullptr, std::memory_order_release);
        free_.push_back(static_cast<std::uint32_t>(
            reinterpret_cast<std::uintptr_t>(handle) >> index_shift & index_mask));
        return std::move(at->owner);
    }

private:
    // Bits: tag 0-3, index 4-23, generation 24 and up. The low bits look like those of an address.
    static constexpr unsigned index_shift = 4;
    static constexpr std::uintptr_t index_mask = (1u << 20) - 1;
    static constexpr unsigned generation_shift = 24;
    static constexpr std::uintptr_t generation_mask = (std::uintptr_t{1} << 22) - 1;
    static constexpr std::size_t block_slots = 1024;
    static constexpr std::size_t block_count = 1024;

    struct slot {
        std::atomic<std::uint32_t> generation{1};
        std::atomic<Object*> object{nullptr};
        std::shared_ptr<Object> owner;
    };

    static void* encode(std::uint32_t index, std::uint32_t generation) noexcept
    {
        return reinterpret_cast<void*>((std::uintptr_t{index} << index_shift) |
                                       ((generation & generation_mask) << generation_shift) |
                                       (std::uintptr_t{1} << (generation_shift + 22)));
    }

    slot* find(std::uint32_t index) const noexcept
    {
        slot* const block = blocks_[index / block_slots].load(std::memory_order_acquire);
        return block ? block + index % block_slots : nullptr;
    }

    slot* check(const void* handle) const noexcept
    {
        const auto bits = reinterpret_cast<std::uintptr_t>(handle);
        const auto index = static_cast<std::uint32_t>(bits >> index_shift & index_mask);
        slot* const at = find(index);
        if (!at || encode(index, at->generation.load(std::memory_order_acquire)) != handle)
            return nullptr;
        return at;
    }

    std::mutex mutex_;
    std::atomic<slot*> blocks_[block_count]{};
    std::vector<std::uint32_t> free_;
    std::uint32_t used_ = 0;
};

} // namespace zlink::api
