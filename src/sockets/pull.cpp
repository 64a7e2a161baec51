// SPDX-License-Identifier: Apache-2.0
#include "sockets/pull.hpp"

#include "sockets/patterns.hpp"

namespace zlink::sockets {

std::unique_ptr<core::pattern> make_pull(core::pattern_host& host)
{
    return std::make_unique<pull>(host);
}

} // namespace zlink::sockets
