// SPDX-License-Identifier: Apache-2.0
#include "sockets/push.hpp"

#include "sockets/patterns.hpp"

namespace zlink::sockets {

std::unique_ptr<core::pattern> make_push(core::pattern_host&)
{
    return std::make_unique<push>();
}

} // namespace zlink::sockets
