// SPDX-License-Identifier: Apache-2.0
#include "base/rules.hpp"

#ifdef ZLINK_ABLATION

#include <cstdlib>

namespace zlink::base {
namespace {

std::uint32_t switched_off() noexcept
{
    const char* const list = ::secure_getenv("ZLINK_ABLATE");
    return list ? rules_in(list) : 0;
}

} // namespace

const std::uint32_t rules_off = switched_off();

} // namespace zlink::base

#endif
