// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/handle_addresses.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <variant>

namespace zlink::api {

/// How many objects of a type may be there at a time.
template <class Object>
inline constexpr std::size_t handle_limit = std::size_t{1} << 16;

/// The void* the application holds. It is no address of an object but stands for a slot and the
/// number of the slot's use, so a stale or made-up handle is found out without touching memory that
/// is not ours. It is an address that can be read, though, and zeros are there: czmq and programs
/// like it look at the memory behind a socket to learn whether it is one of their own objects.
///
/// Objects used by many threads at once are *shared*: their handles say so, and their slots have a
/// gate, which is never destroyed. Who gets an object through its gate asks for it again then: it
/// may have been removed in between.
///
/// An object may belong to another that owns it: that is kept then.
///
/// Thread safety: any thread. get() is lock-free; what it returns stays valid until remove().
template <class Object, class Gate = std::monostate, class Owner = Object>
class handle_table {
public:
    /// Null if the table is full or memory is exhausted (`object` is not kept then).
    void* add(std::shared_ptr<Object> object) noexcept
    {
        Object& added = *object;
        return add(std::move(object), added, false);
    }
    void* add(std::shared_ptr<Owner> owner, Object& object, bool shared) noexcept
    {
        try {
            std::unique_ptr<Gate> fresh_gate;
            if (shared)
                fresh_gate = std::make_unique<Gate>();
            std::lock_guard lock(mutex_);
            if (!addresses_.reserve())
                return nullptr;
            const std::uint32_t index = take_slot();
            if (index == no_slot)
                return nullptr;
            slot& at = *find(index);
            at.owner = std::move(owner);
            at.object.store(&object, std::memory_order_release);
            if (shared && !at.gate.load(std::memory_order_relaxed))
                at.gate.store(fresh_gate.release(), std::memory_order_release);
            const std::uint32_t number = at.use * slot_limit + index + (shared ? shared_bit : 0);
            void* const handle = addresses_.at(number);
            at.handle.store(handle, std::memory_order_release);
            return handle;
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

    /// Is it the handle of a shared object, if it is one? Looks at the handle only.
    static bool is_shared(const void* handle) noexcept
    {
        return (range::low_number(handle) & shared_bit) != 0;
    }

    /// The gate of a shared object; null if the handle is none of this table.
    Gate* gate(const void* handle) const noexcept
    {
        slot* const at = check(handle);
        return at ? at->gate.load(std::memory_order_acquire) : nullptr;
    }

    std::shared_ptr<Owner> share(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        return at ? at->owner : nullptr;
    }

    /// Takes the object out; the handle is invalid from now on.
    std::shared_ptr<Owner> remove(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        if (!at)
            return nullptr;
        at->handle.store(&none, std::memory_order_release);
        at->object.store(nullptr, std::memory_order_release);
        at->use = (at->use + 1) % uses;
        give_slot(range::low_number(handle) % slot_limit);
        return std::move(at->owner);
    }

    // For fork(): a child must not find it locked by a thread that it does not have.
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    static constexpr std::uint32_t slot_limit = handle_limit<Object>;
    static constexpr std::uint32_t uses = 8; ///< handles of a slot before one comes again
    static constexpr std::uint32_t shared_bit = slot_limit * uses;
    static constexpr std::uint32_t block_slots = 1024;
    static constexpr std::uint32_t block_count = slot_limit / block_slots;
    static constexpr std::uint32_t no_slot = 0xffff'ffff;
    // So many slots are free before one is used again, which keeps stale handles stale for long.
    static constexpr std::uint32_t resting_slots = 1024;
    static constexpr char none = 0; ///< its address is no handle
    using range = handle_addresses<std::size_t{shared_bit} * 2>;

    struct slot {
        std::atomic<const void*> handle{&none}; ///< the one that is valid now
        std::atomic<Object*> object{nullptr};
        std::atomic<Gate*> gate{nullptr};
        std::shared_ptr<Owner> owner;
        std::uint32_t use = 0;
        std::uint32_t next_free = no_slot;
    };

    std::uint32_t take_slot()
    {
        if (free_slots_ > resting_slots || (free_slots_ && used_ == slot_limit)) {
            const std::uint32_t index = first_free_;
            first_free_ = find(index)->next_free;
            --free_slots_;
            return index;
        }
        if (used_ == slot_limit)
            return no_slot;
        if (used_ % block_slots == 0)
            blocks_[used_ / block_slots].store(new slot[block_slots], std::memory_order_release);
        return used_++;
    }

    void give_slot(std::uint32_t index) noexcept
    {
        find(index)->next_free = no_slot;
        if (free_slots_++)
            find(last_free_)->next_free = index;
        else
            first_free_ = index;
        last_free_ = index;
    }

    slot* find(std::uint32_t index) const noexcept
    {
        slot* const block = blocks_[index / block_slots].load(std::memory_order_acquire);
        return block ? block + index % block_slots : nullptr;
    }

    slot* check(const void* handle) const noexcept
    {
        slot* const at = find(range::low_number(handle) % slot_limit);
        return at && at->handle.load(std::memory_order_acquire) == handle ? at : nullptr;
    }

    std::mutex mutex_;
    range addresses_;
    std::atomic<slot*> blocks_[block_count]{};
    std::uint32_t used_ = 0;
    std::uint32_t first_free_ = no_slot;
    std::uint32_t last_free_ = no_slot;
    std::uint32_t free_slots_ = 0;
};

} // namespace zlink::api
