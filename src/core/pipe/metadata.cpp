// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/metadata.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace zlink::core {

metadata::metadata(const std::vector<std::pair<std::string, std::string>>& properties,
                   int descriptor)
    : descriptor_(descriptor)
{
    using property = std::pair<std::string, std::string>;
    std::vector<const property*> in_order;
    std::size_t bytes = 0;
    for (const property& each : properties) {
        in_order.push_back(&each);
        bytes += sizeof(place) + each.first.size() + each.second.size() + 1;
    }
    // The first of a name stays the first.
    std::ranges::stable_sort(in_order, {},
                             [](const property* each) -> std::string_view { return each->first; });
    properties_ = std::make_unique_for_overwrite<char[]>(bytes);
    char* const begin = properties_.get();
    auto at = static_cast<std::uint32_t>(in_order.size() * sizeof(place));
    const auto put = [&](const char* text, std::size_t size) {
        const std::uint32_t where = at;
        std::memcpy(begin + at, text, size);
        at += static_cast<std::uint32_t>(size);
        return where;
    };
    for (const property* each : in_order) {
        const auto& [name, value] = *each;
        place where{};
        where.name_bytes = static_cast<std::uint32_t>(name.size());
        where.name = put(name.data(), name.size());
        where.value = put(value.c_str(), value.size() + 1);
        std::memcpy(begin + count_++ * sizeof(place), &where, sizeof where);
    }
}

std::string_view metadata::name_at(std::uint32_t index) const noexcept
{
    place where;
    std::memcpy(&where, properties_.get() + index * sizeof(place), sizeof where);
    return {properties_.get() + where.name, where.name_bytes};
}

const char* metadata::find(std::string_view name) const noexcept
{
    // Not with std::views, which clang up to 15 cannot compile from libstdc++.
    std::uint32_t at = 0; // of the first name that is not less
    for (std::uint32_t end = count_; at < end;) {
        const std::uint32_t middle = at + (end - at) / 2;
        if (name_at(middle) < name)
            at = middle + 1;
        else
            end = middle;
    }
    if (at == count_ || name_at(at) != name)
        return nullptr;
    place where;
    std::memcpy(&where, properties_.get() + at * sizeof(place), sizeof where);
    return properties_.get() + where.value;
}

} // namespace zlink::core
