// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sockets/announced_set.hpp"

#include <functional>
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

/// The groups a DISH socket has joined.
class group_set final : public announced_set {
public:
    using names = std::unordered_set<std::string, name_hash, std::equal_to<>>;

    /// Only the socket changes the set, so it may look without the lock.
    bool contains(std::string_view group) const noexcept
    {
        return names_.find(group) != names_.end();
    }

    /// False if it is a member already; leave(): if it is none.
    bool join(std::string_view group);
    bool leave(std::string_view group);

private:
    void append_all(std::vector<std::byte>& frames, bool repeated) const override;

    names names_;
};

} // namespace zlink::sockets
