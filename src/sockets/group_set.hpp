// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket_link.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

namespace zlink::sockets {

/// Hashes names that are looked up without making a std::string.
struct name_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept
    {
        return std::hash<std::string_view>{}(text);
    }
};

/// The groups a DISH socket has joined. The socket changes and asks them; I/O threads take
/// snapshots for new connections. Thread safety: snapshot() in any thread; all else by the socket
/// only.
class group_set final : public core::subscription_source {
public:
    using names = std::unordered_set<std::string, name_hash, std::equal_to<>>;

    /// Only the socket changes the set, so it may look without the lock.
    bool contains(std::string_view group) const noexcept
    {
        return names_.find(group) != names_.end();
    }
    const names& all() const noexcept { return names_; }

    /// Changes the set under the lock: `change(names&)` also tells the connected peers.
    template <class Change>
    void change(Change change)
    {
        std::lock_guard lock(mutex_);
        change(names_);
    }

    void snapshot(std::vector<std::byte>& frames, bool repeated,
                  const std::function<void()>& then) override;

private:
    std::mutex mutex_;
    names names_;
};

} // namespace zlink::sockets
