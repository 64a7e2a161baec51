// SPDX-License-Identifier: Apache-2.0
#include "base/system/keyed_hash.hpp"

#include <random>

namespace zlink::base {
namespace {

hash_key random_key()
{
    std::random_device source;
    std::uniform_int_distribution<std::uint64_t> any;
    const std::uint64_t low = any(source);
    return {low, any(source)};
}

} // namespace

keyed_hash::keyed_hash()
{
    static const hash_key of_this_process = random_key();
    key_ = of_this_process;
}

} // namespace zlink::base
