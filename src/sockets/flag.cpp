// SPDX-License-Identifier: Apache-2.0
#include "sockets/patterns.hpp"

#include <cerrno>

namespace zlink::sockets {

int read_flag(const void* value, std::size_t bytes, bool& out) noexcept
{
    int number = 0;
    if (core::read_int(value, bytes, number) != 0 || number < 0)
        return EINVAL;
    out = number != 0;
    return 0;
}

} // namespace zlink::sockets
