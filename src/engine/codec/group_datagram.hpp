// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

/// A message of RADIO and DISH as a datagram: length of the group (1 byte), group, body.
///
/// Thread safety: pure functions on caller memory.
namespace zlink::engine::group_datagram {

inline constexpr std::size_t max_group_bytes = 255;
/// Peers take no larger ones.
inline constexpr std::size_t max_bytes = 8192;

struct message {
    std::span<const std::byte> group;
    std::span<const std::byte> body;
};

/// Nothing if the group is not there as a whole.
inline std::optional<message> parse(std::span<const std::byte> datagram) noexcept
{
    if (datagram.empty())
        return std::nullopt;
    const auto group_bytes = std::to_integer<std::size_t>(datagram[0]);
    const auto rest = datagram.subspan(1);
    if (rest.size() < group_bytes)
        return std::nullopt;
    return message{rest.first(group_bytes), rest.subspan(group_bytes)};
}

} // namespace zlink::engine::group_datagram
