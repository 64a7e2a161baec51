// SPDX-License-Identifier: Apache-2.0
#include "sockets/group_set.hpp"

#include <span>

namespace zlink::sockets {
namespace {

std::span<const std::byte> bytes_of(std::string_view group) noexcept
{
    return std::as_bytes(std::span(group));
}

} // namespace

bool group_set::join(std::string_view group)
{
    if (contains(group))
        return false;
    change(kind::join, bytes_of(group), [&] { return names_.emplace(group).second; });
    return true;
}

bool group_set::leave(std::string_view group)
{
    const auto at = names_.find(group);
    if (at == names_.end())
        return false;
    change(kind::leave, bytes_of(group), [&] {
        names_.erase(at);
        return true;
    });
    return true;
}

void group_set::append_all(std::vector<std::byte>& frames, bool) const
{
    for (const std::string& group : names_)
        engine::append_traffic_command(frames, {kind::join, bytes_of(group), 0});
}

} // namespace zlink::sockets
