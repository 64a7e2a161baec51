// SPDX-License-Identifier: Apache-2.0
#include "base/system/random_bytes.hpp"
#include "base/system/no_cancellation.hpp"

#include <cerrno>
#include <sys/random.h>

namespace zlink::base {

bool fill_random(std::span<std::byte> out) noexcept
{
    const no_cancellation whole;
    while (!out.empty()) {
        const ssize_t given = ::getrandom(out.data(), out.size(), 0);
        if (given >= 0)
            out = out.subspan(static_cast<std::size_t>(given));
        else if (errno != EINTR)
            return false;
    }
    return true;
}

} // namespace zlink::base
