// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// Command bodies of ZMTP 3.x. A command body is a name length (1 byte, 1 to 255), the name and the
/// command's data.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe. The functions are pure.
/// Errors: values; only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine {

/// A command body taken apart. Both views borrow from the parsed body.
struct command_view {
    std::string_view name;
    std::span<const std::byte> data;
};

/// Splits a command body; nothing when it is empty, the name is empty or runs past the end.
std::optional<command_view> parse_command(std::span<const std::byte> body) noexcept;

/// Appends a command body (length-prefixed name, then `data`), without frame header. `name` has 1
/// to 255 bytes.
void append_command_body(std::vector<std::byte>& out, std::string_view name,
                         std::span<const std::byte> data = {});

} // namespace zlink::engine
