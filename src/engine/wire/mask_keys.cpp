// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/mask_keys.hpp"

#include "base/memory/thread_own.hpp"
#include "base/system/random_bytes.hpp"

#include <span>

namespace zlink::engine {
namespace {

constexpr int rounds = 12;

using own_keys = base::thread_own<mask_keys>;
const own_keys keep_own_keys;

} // namespace

mask_keys* mask_keys::of_this_thread() noexcept
{
    return own_keys::find_or_make();
}

websocket::mask_key mask_keys::from_system() noexcept
{
    websocket::mask_key key{};
    static_cast<void>(base::fill_random(key)); // there is no system that has none
    return key;
}

// Without random bytes (there is no such system) the last key serves again.
void mask_keys::make_more() noexcept
{
    if (block_ == most_blocks) {
        static_cast<void>(base::fill_random(std::as_writable_bytes(std::span(secret_))));
        block_ = 0;
    }
    chacha::make_blocks(made_, secret_, block_, {}, rounds);
    block_ += chacha::blocks_at_once;
    next_ = 0;
}

} // namespace zlink::engine
