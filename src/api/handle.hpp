// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/handle_addresses.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
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
/// A process made by fork() has copies of the objects, but none of the threads that work for them,
/// and perhaps locks that these hold for ever: there nothing is found any more. The handles are
/// known as *inherited* until forget(), and the objects are left as they are, never destroyed.
///
/// Thread safety: any thread. get() is lock-free; what it returns stays valid until remove().
template <class Object, class Gate = std::monostate, class Owner = Object>
class handle_table {
public:
    handle_table() noexcept = default;
    ~handle_table()
    {
        for (const std::atomic<slot*>& block : blocks_) {
            const std::unique_ptr<slot[]> slots(block.load(std::memory_order_relaxed));
            for (std::uint32_t index = 0; slots && index < block_slots; ++index)
                std::unique_ptr<Gate>(slots[index].gate.load(std::memory_order_relaxed));
        }
    }
    handle_table(const handle_table&) = delete;
    handle_table& operator=(const handle_table&) = delete;

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
            std::unique_ptr<slot[]> fresh_block;
            std::unique_lock lock(mutex_);
            if (wants_block()) {
                lock.unlock();
                fresh_block.reset(new (std::nothrow) slot[block_slots]);
                lock.lock();
            }
            const std::uint32_t index = take_slot(fresh_block);
            if (index == no_slot)
                return nullptr;
            slot& at = *find(index);
            at.owner = std::move(owner);
            at.object.store(&object, std::memory_order_release);
            if (shared && !at.gate.load(std::memory_order_relaxed))
                at.gate.store(fresh_gate.release(), std::memory_order_release);
            const std::uint32_t number =
                at.use * block_slots + index % block_slots + (shared ? shared_bit : 0);
            void* const handle = addresses_.at(index / block_slots, number);
            at.handle.store(handle, std::memory_order_release);
            return handle;
        } catch (...) {
            return nullptr;
        }
    }

    /// Null if the handle is not (or no longer) one of this table, or inherited.
    Object* get(const void* handle) const noexcept
    {
        slot* const at = check(handle);
        return at ? at->object.load(std::memory_order_acquire) : nullptr;
    }

    /// Is it the handle of a shared object, if it is one? Looks at the handle only.
    static bool is_shared(const void* handle) noexcept
    {
        return (addresses::number_of(handle) & shared_bit) != 0;
    }

    /// The gate of a shared object; null if the handle is none of this table, or inherited.
    Gate* gate(const void* handle) const noexcept
    {
        slot* const at = check(handle);
        return at ? at->gate.load(std::memory_order_acquire) : nullptr;
    }

    std::shared_ptr<Owner> share(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        return at && !inherited(*at) ? at->owner : nullptr;
    }

    /// Takes the object out; the handle is invalid from now on.
    std::shared_ptr<Owner> remove(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        if (!at || inherited(*at))
            return nullptr;
        at->handle.store(&none, std::memory_order_release);
        at->object.store(nullptr, std::memory_order_release);
        at->use = (at->use + 1) % uses;
        give_slot(addresses::range_of(handle) * block_slots +
                  addresses::number_of(handle) % block_slots);
        return std::move(at->owner);
    }

    /// Does it stand for an object of the process that forked this one?
    bool is_inherited(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        const slot* const at = check(handle);
        return at && inherited(*at);
    }

    /// Makes an inherited handle invalid. False if it is none.
    bool forget(const void* handle) noexcept
    {
        std::lock_guard lock(mutex_);
        slot* const at = check(handle);
        if (!at || !inherited(*at))
            return false;
        at->handle.store(&none, std::memory_order_release); // the slot goes on keeping the owner
        return true;
    }

    // For fork(): a child must not find it locked by a thread that it does not have. Memory is
    // neither taken nor freed while it is locked, as an allocator with locks and handlers of its
    // own may be prepared for the fork already.
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    /// In the child, while locked: makes all handles inherited.
    void disown() noexcept
    {
        for (const std::atomic<slot*>& block : blocks_) {
            slot* const slots = block.load(std::memory_order_relaxed);
            for (std::uint32_t index = 0; slots && index < block_slots; ++index) {
                slot& at = slots[index];
                if (at.handle.load(std::memory_order_relaxed) == &none)
                    continue;
                at.object.store(nullptr, std::memory_order_relaxed);
                at.gate.store(nullptr, std::memory_order_relaxed);
            }
        }
    }

private:
    static constexpr std::uint32_t uses = 8; ///< handles of a slot before one comes again
    static constexpr std::uint32_t block_slots = 1024;
    static constexpr std::uint32_t block_count = handle_limit<Object> / block_slots;
    static constexpr std::uint32_t shared_bit = block_slots * uses;
    static constexpr std::uint32_t no_slot = 0xffff'ffff;
    // So many slots are free before one is used again, which keeps stale handles stale for long.
    static constexpr std::uint32_t resting_slots = 1024;
    static constexpr char none = 0; ///< its address is no handle
    // Each block of slots has a range of addresses.
    using addresses = handle_addresses<block_count, std::size_t{shared_bit} * 2>;

    struct slot {
        std::atomic<const void*> handle{&none}; ///< the one that is valid now
        std::atomic<Object*> object{nullptr};
        std::atomic<Gate*> gate{nullptr};
        std::shared_ptr<Owner> owner;
        std::uint32_t use = 0;
        std::uint32_t next_free = no_slot;
    };

    static bool inherited(const slot& valid) noexcept
    {
        return !valid.object.load(std::memory_order_relaxed);
    }

    /// Has the slot to be taken next to come from another block?
    bool wants_block() const noexcept
    {
        return free_slots_ <= resting_slots && !fresh_slots_ && used_blocks_ != block_count;
    }

    std::uint32_t take_slot(std::unique_ptr<slot[]>& fresh_block) noexcept
    {
        if (free_slots_ <= resting_slots && (fresh_slots_ || add_block(fresh_block))) {
            --fresh_slots_;
            return next_fresh_++;
        }
        if (!free_slots_)
            return no_slot;
        const std::uint32_t index = first_free_;
        first_free_ = find(index)->next_free;
        --free_slots_;
        return index;
    }

    bool add_block(std::unique_ptr<slot[]>& slots) noexcept
    {
        const std::uint32_t number = slots ? addresses_.add_range() : addresses::no_range;
        if (number == addresses::no_range)
            return false;
        blocks_[number].store(slots.release(), std::memory_order_release);
        ++used_blocks_;
        next_fresh_ = number * block_slots;
        fresh_slots_ = block_slots;
        return true;
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
        return find(index / block_slots, index % block_slots);
    }
    slot* find(std::uint32_t block_number, std::uint32_t number_in_it) const noexcept
    {
        slot* const block = blocks_[block_number].load(std::memory_order_acquire);
        return block ? block + number_in_it : nullptr;
    }

    slot* check(const void* handle) const noexcept
    {
        slot* const at =
            find(addresses::range_of(handle), addresses::number_of(handle) % block_slots);
        return at && at->handle.load(std::memory_order_acquire) == handle ? at : nullptr;
    }

    std::mutex mutex_;
    addresses addresses_;
    std::atomic<slot*> blocks_[block_count]{};
    std::uint32_t used_blocks_ = 0;
    std::uint32_t next_fresh_ = 0;  ///< of the newest block
    std::uint32_t fresh_slots_ = 0; ///< of it, never used so far
    std::uint32_t first_free_ = no_slot;
    std::uint32_t last_free_ = no_slot;
    std::uint32_t free_slots_ = 0;
};

} // namespace zlink::api
