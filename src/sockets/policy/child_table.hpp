// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/tuning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace zlink::sockets {

/// The children of a tree node, ordered by the first byte of their labels.
///
/// Does not own the children. One heap block holds the pointers and, behind them, the first bytes,
/// so that a lookup scans a few contiguous bytes. Not thread safe.
template <class Node>
class child_table {
public:
    std::size_t size() const noexcept { return count_; }

    /// The child whose label begins with `first`, or null.
    Node* find(std::byte first) const noexcept
    {
        const std::size_t index = index_of(first);
        return index == count_ ? nullptr : slots_[index];
    }

    /// The child with the smallest first byte, or null.
    Node* front() const noexcept { return count_ == 0 ? nullptr : slots_[0]; }

    /// The child that follows the one beginning with `first` (which must exist), or null.
    Node* after(std::byte first) const noexcept
    {
        const std::size_t index = index_of(first) + 1;
        return index == count_ ? nullptr : slots_[index];
    }

    /// Makes room for `additional` more children. Throws std::bad_alloc, then nothing has changed.
    void reserve(std::size_t additional)
    {
        const std::size_t needed = count_ + additional;
        if (needed <= capacity_) {
            return;
        }
        const std::size_t capacity = std::max<std::size_t>(needed, capacity_ * 2U);
        auto grown = std::make_unique_for_overwrite<Node*[]>(capacity + byte_slots(capacity));
        std::copy_n(slots_.get(), count_, grown.get());
        std::copy_n(firsts(), count_, reinterpret_cast<unsigned char*>(grown.get() + capacity));
        slots_ = std::move(grown);
        capacity_ = static_cast<std::uint16_t>(capacity);
    }

    /// Adds a child; `first` must be new and room must have been reserved.
    void insert(std::byte first, Node* child) noexcept
    {
        const auto value = static_cast<unsigned char>(first);
        unsigned char* const bytes = firsts();
        const std::size_t at =
            static_cast<std::size_t>(std::lower_bound(bytes, bytes + count_, value) - bytes);
        std::copy_backward(bytes + at, bytes + count_, bytes + count_ + 1);
        std::copy_backward(&slots_[at], &slots_[count_], &slots_[count_] + 1);
        bytes[at] = value;
        slots_[at] = child;
        ++count_;
    }

    /// Puts `child` in the place of the child beginning with `first`, which must exist.
    void replace(std::byte first, Node* child) noexcept { slots_[index_of(first)] = child; }

    /// Forgets the child beginning with `first`, which must exist.
    void erase(std::byte first) noexcept
    {
        const std::size_t at = index_of(first);
        unsigned char* const bytes = firsts();
        std::copy(bytes + at + 1, bytes + count_, bytes + at);
        std::copy(&slots_[at] + 1, &slots_[count_], &slots_[at]);
        shrink();
    }

    /// Forgets and returns the last child; there must be one.
    Node* take_back() noexcept
    {
        Node* const child = slots_[count_ - 1U];
        shrink();
        return child;
    }

private:
    static constexpr std::size_t byte_slots(std::size_t capacity) noexcept
    {
        return (capacity + sizeof(Node*) - 1) / sizeof(Node*);
    }

    unsigned char* firsts() const noexcept
    {
        return reinterpret_cast<unsigned char*>(slots_.get() + capacity_);
    }

    std::size_t index_of(std::byte first) const noexcept
    {
        const auto value = static_cast<unsigned char>(first);
        const unsigned char* const bytes = firsts();
        if (count_ > tuning::fan_out::max_scanned_children) {
            const void* const hit = std::memchr(bytes, value, count_);
            return hit == nullptr ? count_ : static_cast<const unsigned char*>(hit) - bytes;
        }
        std::size_t index = 0;
        while (index < count_ && bytes[index] != value) {
            ++index;
        }
        return index;
    }

    void shrink() noexcept
    {
        if (--count_ == 0) {
            slots_.reset();
            capacity_ = 0;
        }
    }

    std::unique_ptr<Node*[]> slots_;
    std::uint16_t count_ = 0;
    std::uint16_t capacity_ = 0;
};

} // namespace zlink::sockets
