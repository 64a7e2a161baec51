// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/traffic_commands.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/commands/command.hpp"

namespace zlink::engine {
namespace {

using kind = traffic_command_kind;

constexpr std::size_t ttl_bytes = 2;

struct command_row {
    kind command;
    std::string_view name;
};

constexpr std::array<command_row, 6> rows{{
    {kind::subscribe, "SUBSCRIBE"},
    {kind::cancel, "CANCEL"},
    {kind::ping, "PING"},
    {kind::pong, "PONG"},
    {kind::join, "JOIN"},
    {kind::leave, "LEAVE"},
}};

std::string_view name_of(kind command) noexcept
{
    for (const auto& row : rows) {
        if (row.command == command) {
            return row.name;
        }
    }
    return {};
}

kind kind_of(std::string_view name) noexcept
{
    for (const auto& row : rows) {
        if (row.name == name) {
            return row.command;
        }
    }
    return kind::other;
}

std::span<const std::byte> cut_context(std::span<const std::byte> context) noexcept
{
    return context.first(std::min(context.size(), longest_context_bytes));
}

/// The argument as it is sent or understood.
std::span<const std::byte> effective_argument(const traffic_command& command) noexcept
{
    const bool has_context = command.kind == kind::ping || command.kind == kind::pong;
    return has_context ? cut_context(command.argument) : command.argument;
}

std::size_t body_bytes(const traffic_command& command) noexcept
{
    return 1 + name_of(command.kind).size() + (command.kind == kind::ping ? ttl_bytes : 0) +
           effective_argument(command).size();
}

std::byte* put(std::byte* out, std::span<const std::byte> bytes) noexcept
{
    return std::copy(bytes.begin(), bytes.end(), out);
}

} // namespace

traffic_command parse_traffic_command(std::span<const std::byte> body) noexcept
{
    const auto command = parse_command(body);
    if (!command) {
        return {};
    }
    traffic_command parsed{kind_of(command->name), command->data, 0};
    if (parsed.kind == kind::other) {
        return {};
    }
    if (parsed.kind == kind::ping) {
        if (parsed.argument.size() < ttl_bytes) {
            return {};
        }
        const auto high = std::to_integer<std::uint32_t>(parsed.argument[0]);
        const auto low = std::to_integer<std::uint32_t>(parsed.argument[1]);
        parsed.ttl_ms = (high << 8 | low) * ttl_unit_ms;
        parsed.argument = parsed.argument.subspan(ttl_bytes);
    }
    parsed.argument = effective_argument(parsed);
    return parsed;
}

std::size_t traffic_command_frame_bytes(const traffic_command& command) noexcept
{
    if (command.kind == kind::other || command.kind == kind::close) {
        return 0;
    }
    const auto bytes = body_bytes(command);
    return zmtp3::header_bytes_for(bytes) + bytes;
}

std::size_t write_traffic_command(std::span<std::byte> out, const traffic_command& command) noexcept
{
    const auto frame_bytes = traffic_command_frame_bytes(command);
    if (frame_bytes == 0 || frame_bytes > out.size()) {
        return 0;
    }
    auto* p = out.data();
    p += zmtp3::encode_header(p, zmtp3::flag_command, body_bytes(command));
    const auto name = name_of(command.kind);
    *p++ = static_cast<std::byte>(name.size());
    p = put(p, as_bytes(name));
    if (command.kind == kind::ping) {
        const auto ttl = std::min(command.ttl_ms, max_ping_ttl_ms) / ttl_unit_ms;
        *p++ = static_cast<std::byte>(ttl >> 8);
        *p++ = static_cast<std::byte>(ttl);
    }
    put(p, effective_argument(command));
    return frame_bytes;
}

void append_traffic_command(std::vector<std::byte>& out, const traffic_command& command)
{
    const auto begin = out.size();
    out.resize(begin + traffic_command_frame_bytes(command));
    write_traffic_command(std::span(out).subspan(begin), command);
}

} // namespace zlink::engine
