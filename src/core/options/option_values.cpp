// SPDX-License-Identifier: Apache-2.0
#include "core/options/option_values.hpp"

#include <cerrno>
#include <cstring>

namespace zlink::core {

int read_int(const void* value, std::size_t bytes, int& out) noexcept
{
    if (bytes != sizeof out || !value)
        return EINVAL;
    std::memcpy(&out, value, sizeof out);
    return 0;
}

int write_int(int from, void* value, std::size_t* bytes) noexcept
{
    if (*bytes < sizeof from)
        return EINVAL;
    std::memset(value, 0, *bytes);
    std::memcpy(value, &from, sizeof from);
    *bytes = sizeof from;
    return 0;
}

int write_text(std::string_view from, void* value, std::size_t* bytes) noexcept
{
    if (*bytes < from.size() + 1)
        return EINVAL;
    std::memset(value, 0, *bytes);
    if (!from.empty()) // memcpy must not see null
        std::memcpy(value, from.data(), from.size());
    *bytes = from.size() + 1;
    return 0;
}

int read_flag(const void* value, std::size_t bytes, bool& out) noexcept
{
    int number = 0;
    if (read_int(value, bytes, number) != 0 || number < 0)
        return EINVAL;
    out = number != 0;
    return 0;
}

} // namespace zlink::core
