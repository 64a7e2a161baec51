// SPDX-License-Identifier: Apache-2.0
#include "core/pattern.hpp"

#include <cerrno>

namespace zlink::core {

int pattern::set_option(int, const void*, std::size_t)
{
    return EINVAL;
}

int pattern::get_option(int, void*, std::size_t*)
{
    return EINVAL;
}

} // namespace zlink::core
