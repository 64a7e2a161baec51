// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "prefix_tree.hpp"

#include <cstddef>
#include <span>

namespace zlink::sockets {

/// The subscriptions of one subscribing socket: a multiset of byte strings, asked whether any of
/// them is a prefix of a message.
///
/// Prefixes may hold any bytes and have any length; the set keeps copies. Not thread safe.
class topic_set {
public:
    /// What remove() found: no such prefix, one that has other occurrences left, or the last one.
    enum class removal { unknown, still_counted, last };

    /// Adds one occurrence of `prefix`; true if there was none before.
    /// Throws std::bad_alloc, then nothing has changed.
    bool add(std::span<const std::byte> prefix);

    /// Takes away one occurrence of `prefix`.
    removal remove(std::span<const std::byte> prefix) noexcept;

    /// Whether some prefix in the set begins `message`. The empty prefix begins every message.
    bool matches(std::span<const std::byte> message) const noexcept
    {
        for (auto* at = &tree_.root(); at != nullptr; at = at->next_on_path(message)) {
            if (at->holds_value()) {
                return true;
            }
        }
        return false;
    }

    /// Number of different prefixes.
    std::size_t unique_count() const noexcept { return tree_.size(); }

    /// Number of prefixes, each occurrence counted.
    std::size_t total_count() const noexcept { return total_count_; }

    /// Calls `visit(prefix, occurrences)` once per different prefix, in lexicographic order, with
    /// a std::span<const std::byte> valid during the call and a std::size_t. `visit` must not
    /// change the set.
    template <class F>
    void for_each(F&& visit) const
    {
        tree_.for_each([&](const tree::node& at) { visit(at.key(), at.value); });
    }

    /// Number of internal nodes, for judging memory: 0 if the set is empty.
    std::size_t node_count() const noexcept { return tree_.node_count(); }

private:
    using tree = prefix_tree<std::size_t>;

    tree tree_;
    std::size_t total_count_ = 0;
};

} // namespace zlink::sockets
