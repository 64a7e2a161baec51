// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/metadata.hpp"

#include <cstdint>

#include "engine/bytes.hpp"

namespace zlink::engine {
namespace {

constexpr std::size_t value_length_bytes = 4;

/// Views of one property and how many bytes it takes in the list; 0 when it is cut off.
struct property_view {
    std::string_view name;
    std::string_view value;
    std::size_t encoded_bytes = 0;
};

property_view view_property(std::span<const std::byte> bytes) noexcept
{
    if (bytes.empty()) {
        return {};
    }
    const auto name_bytes = std::to_integer<std::size_t>(bytes[0]);
    const auto value_offset = 1 + name_bytes + value_length_bytes;
    if (bytes.size() < value_offset) {
        return {};
    }
    std::uint32_t value_bytes = 0;
    for (auto byte : bytes.subspan(1 + name_bytes, value_length_bytes)) {
        value_bytes = (value_bytes << 8) | std::to_integer<std::uint32_t>(byte);
    }
    if (bytes.size() - value_offset < value_bytes) {
        return {};
    }
    return {as_text(bytes.subspan(1, name_bytes)),
            as_text(bytes.subspan(value_offset, value_bytes)), value_offset + value_bytes};
}

/// Number of properties in the list, or -1 when it does not parse.
std::ptrdiff_t count_properties(std::span<const std::byte> bytes) noexcept
{
    std::ptrdiff_t count = 0;
    while (!bytes.empty()) {
        const auto view = view_property(bytes);
        if (view.encoded_bytes == 0) {
            return -1;
        }
        bytes = bytes.subspan(view.encoded_bytes);
        ++count;
    }
    return count;
}

} // namespace

bool append_property(std::vector<std::byte>& out, std::string_view name, std::string_view value)
{
    if (name.empty() || name.size() > max_property_name_bytes ||
        value.size() > max_property_value_bytes) {
        return false;
    }
    out.push_back(static_cast<std::byte>(name.size()));
    append_bytes(out, as_bytes(name));
    for (int shift = 24; shift >= 0; shift -= 8) {
        out.push_back(static_cast<std::byte>(value.size() >> shift));
    }
    append_bytes(out, as_bytes(value));
    return true;
}

bool decode_properties(std::span<const std::byte> bytes, std::vector<property>& properties)
{
    const auto count = count_properties(bytes);
    if (count < 0) {
        return false;
    }
    // Counted first, so that many tiny properties cost one allocation of the exact size.
    properties.reserve(properties.size() + static_cast<std::size_t>(count));
    while (!bytes.empty()) {
        const auto view = view_property(bytes);
        properties.push_back({std::string(view.name), std::string(view.value)});
        bytes = bytes.subspan(view.encoded_bytes);
    }
    return true;
}

const property* find_property(std::span<const property> properties, std::string_view name) noexcept
{
    for (const auto& property : properties) {
        if (property.name == name) {
            return &property;
        }
    }
    return nullptr;
}

} // namespace zlink::engine
