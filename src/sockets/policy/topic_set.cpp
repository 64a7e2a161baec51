// SPDX-License-Identifier: Apache-2.0
#include "topic_set.hpp"

namespace zlink::sockets {

bool topic_set::add(std::span<const std::byte> prefix)
{
    const auto [entry, fresh] = tree_.insert(prefix);
    ++entry->value;
    ++total_count_;
    return fresh;
}

topic_set::removal topic_set::remove(std::span<const std::byte> prefix) noexcept
{
    auto* const entry = tree_.find(prefix);
    if (entry == nullptr) {
        return removal::unknown;
    }
    --total_count_;
    if (--entry->value != 0) {
        return removal::still_counted;
    }
    tree_.erase(entry);
    return removal::last;
}

} // namespace zlink::sockets
