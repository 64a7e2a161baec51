// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "child_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace zlink::sockets {

/// Maps byte strings to values so that all keys which are prefixes of a message are found in one
/// walk: a compressed radix tree.
///
/// Keys may hold any bytes and have any length. No operation recurses, and each costs time in
/// proportion to the key, however many others there are. A node that holds a value owns a copy of
/// its complete key; every other node borrows its label from a key below it. Splitting and joining
/// labels therefore copies no bytes, and removal needs no memory.
///
/// Value must be default constructible without throwing. Nodes that hold a value stay at their
/// address until that value is erased. Not thread safe.
template <class Value>
class prefix_tree {
public:
    using bytes = std::span<const std::byte>;

    class node {
    public:
        /// The complete key; valid until the value of this node is erased.
        bytes key() const noexcept { return {bytes_, end_}; }

        /// Whether this node stands for a key in the tree; the others only join branches.
        bool holds_value() const noexcept { return owned_key_ != nullptr; }

        /// The next longer node whose key is a prefix of `message`, or null. The key of this node
        /// must be a prefix of `message` itself.
        node* next_on_path(bytes message) const noexcept
        {
            if (end_ == message.size()) {
                return nullptr;
            }
            node* const child = children_.find(message[end_]);
            if (child == nullptr || child->end_ > message.size()) {
                return nullptr;
            }
            // The lookup has already compared the first byte of the label.
            const std::size_t rest = end_ + 1;
            const bool same =
                std::memcmp(child->bytes_ + rest, message.data() + rest, child->end_ - rest) == 0;
            return same ? child : nullptr;
        }

        Value value{};

    private:
        friend class prefix_tree;

        std::byte first() const noexcept { return bytes_[begin_]; }

        void adopt(std::unique_ptr<std::byte[]> key) noexcept
        {
            owned_key_ = std::move(key);
            bytes_ = owned_key_.get();
        }

        // The label is [begin_, end_) of bytes_, which begins with the complete key of this node.
        const std::byte* bytes_ = nullptr;
        std::size_t begin_ = 0;
        std::size_t end_ = 0;
        child_table<node> children_;
        std::unique_ptr<std::byte[]> owned_key_;
        node* parent_ = nullptr;
    };

    prefix_tree() = default;
    prefix_tree(const prefix_tree&) = delete;
    prefix_tree& operator=(const prefix_tree&) = delete;

    ~prefix_tree()
    {
        node* at = &root_;
        while (at != nullptr) {
            if (at->children_.size() != 0) {
                at = at->children_.take_back();
                continue;
            }
            node* const parent = at->parent_;
            if (at != &root_) {
                delete at;
            }
            at = parent;
        }
    }

    /// Number of keys.
    std::size_t size() const noexcept { return size_; }

    /// Number of nodes on the heap: 0 when there are no keys, less than twice size() always.
    std::size_t node_count() const noexcept { return node_count_; }

    /// The node of the empty key, where every walk along a message begins.
    const node& root() const noexcept { return root_; }

    /// The node that holds the value of `key`, or null.
    node* find(bytes key) noexcept
    {
        node* at = &root_;
        while (at != nullptr && at->end_ < key.size()) {
            at = at->next_on_path(key);
        }
        return at != nullptr && at->holds_value() ? at : nullptr;
    }

    /// Adds `key` with a default value unless it exists; tells its node and whether it is new.
    /// Throws std::bad_alloc, then nothing has changed.
    std::pair<node*, bool> insert(bytes key)
    {
        node* at = &root_;
        while (at->end_ < key.size()) {
            node* const child = at->children_.find(key[at->end_]);
            if (child == nullptr) {
                return {add_leaf(*at, key), true};
            }
            const std::size_t shared = shared_length(*child, key);
            if (shared < child->end_) {
                return {split(*child, shared, key), true};
            }
            at = child;
        }
        const bool fresh = !at->holds_value();
        if (fresh) {
            at->adopt(copy_of(key));
            ++size_;
        }
        return {at, fresh};
    }

    /// Removes the key of `target`, a node that holds a value. The node may be freed.
    void erase(node* target) noexcept
    {
        // Nodes above may have borrowed these bytes; they live until those nodes have others.
        const std::unique_ptr<std::byte[]> released = std::move(target->owned_key_);
        target->value = Value{};
        --size_;
        node* at = target;
        if (at != &root_ && at->children_.size() == 0) {
            at = at->parent_;
            at->children_.erase(target->first());
            discard(target);
        }
        if (at != &root_ && !at->holds_value() && at->children_.size() == 1) {
            at = join_with_child(at);
        }
        for (; at != &root_; at = at->parent_) {
            if (at->bytes_ == released.get()) {
                at->bytes_ = at->children_.front()->bytes_;
            }
        }
    }

    /// Calls `visit(const node&)` for each node that holds a value, in lexicographic order of the
    /// keys. `visit` must not change the tree.
    template <class F>
    void for_each(F&& visit) const
    {
        for (const node* at = &root_; at != nullptr; at = next_in_order(at)) {
            if (at->holds_value()) {
                visit(*at);
            }
        }
    }

private:
    static std::unique_ptr<std::byte[]> copy_of(bytes key)
    {
        auto copy = std::make_unique_for_overwrite<std::byte[]>(key.size());
        std::copy(key.begin(), key.end(), copy.get());
        return copy;
    }

    static std::unique_ptr<node> make_leaf(bytes key, std::size_t begin)
    {
        auto key_copy = copy_of(key);
        auto leaf = std::make_unique<node>();
        leaf->adopt(std::move(key_copy));
        leaf->begin_ = begin;
        leaf->end_ = key.size();
        return leaf;
    }

    /// How many leading bytes the key of `child` and `key` share; those above its label must match.
    static std::size_t shared_length(const node& child, bytes key) noexcept
    {
        const std::size_t limit = std::min(child.end_, key.size());
        const std::byte* const begin = child.bytes_ + child.begin_;
        const std::byte* const end = child.bytes_ + limit;
        const std::byte* const other = key.data() + child.begin_;
        if (std::memcmp(begin, other, limit - child.begin_) == 0) {
            return limit;
        }
        return static_cast<std::size_t>(std::mismatch(begin, end, other).first - child.bytes_);
    }

    static void attach(node& parent, node& child) noexcept
    {
        child.parent_ = &parent;
        parent.children_.insert(child.first(), &child);
    }

    node* add_leaf(node& parent, bytes key)
    {
        auto leaf = make_leaf(key, parent.end_);
        parent.children_.reserve(1);
        attach(parent, *leaf);
        ++node_count_;
        ++size_;
        return leaf.release();
    }

    /// Cuts the label of `child` after `shared` bytes of its key and adds `key` there.
    node* split(node& child, std::size_t shared, bytes key)
    {
        std::unique_ptr<node> leaf;
        std::unique_ptr<std::byte[]> key_copy;
        if (shared < key.size()) {
            leaf = make_leaf(key, shared);
        } else {
            key_copy = copy_of(key);
        }
        auto owner = std::make_unique<node>();
        owner->children_.reserve(2);

        node* const middle = owner.release();
        middle->bytes_ = child.bytes_;
        middle->begin_ = child.begin_;
        middle->end_ = shared;
        middle->parent_ = child.parent_;
        middle->parent_->children_.replace(child.first(), middle);
        child.begin_ = shared;
        attach(*middle, child);
        ++node_count_;
        ++size_;
        if (leaf == nullptr) {
            middle->adopt(std::move(key_copy));
            return middle;
        }
        attach(*middle, *leaf);
        ++node_count_;
        return leaf.release();
    }

    /// Removes a node without value that has a single child; returns the parent of both.
    node* join_with_child(node* link) noexcept
    {
        node* const parent = link->parent_;
        node* const child = link->children_.front();
        child->begin_ = link->begin_;
        child->parent_ = parent;
        parent->children_.replace(child->first(), child);
        discard(link);
        return parent;
    }

    void discard(node* unused) noexcept
    {
        delete unused;
        --node_count_;
    }

    const node* next_in_order(const node* at) const noexcept
    {
        if (const node* const below = at->children_.front()) {
            return below;
        }
        for (; at != &root_; at = at->parent_) {
            if (const node* const beside = at->parent_->children_.after(at->first())) {
                return beside;
            }
        }
        return nullptr;
    }

    node root_;
    std::size_t size_ = 0;
    std::size_t node_count_ = 0;
};

} // namespace zlink::sockets
