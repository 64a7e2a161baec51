// SPDX-License-Identifier: Apache-2.0
#include "sockets/pair.hpp"

#include "sockets/patterns.hpp"

namespace zlink::sockets {

std::unique_ptr<core::pattern> make_pair(core::pattern_host& host)
{
    return std::make_unique<pair>(host);
}

} // namespace zlink::sockets
