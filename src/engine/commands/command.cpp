// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/command.hpp"

#include "engine/bytes.hpp"

namespace zlink::engine {

std::optional<command_view> parse_command(std::span<const std::byte> body) noexcept
{
    if (body.empty()) {
        return std::nullopt;
    }
    const auto name_bytes = std::to_integer<std::size_t>(body[0]);
    if (name_bytes == 0 || name_bytes > body.size() - 1) {
        return std::nullopt;
    }
    return command_view{as_text(body.subspan(1, name_bytes)), body.subspan(1 + name_bytes)};
}

void append_command_body(std::vector<std::byte>& out, std::string_view name,
                         std::span<const std::byte> data)
{
    out.push_back(static_cast<std::byte>(name.size()));
    append_bytes(out, as_bytes(name));
    append_bytes(out, data);
}

} // namespace zlink::engine
