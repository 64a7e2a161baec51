// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/codec/chacha.hpp"
#include "engine/codec/websocket.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zlink::engine {

/// Keys for the masks of WebSocket frames: each frame needs one that nobody can foresee. They are
/// the output of ChaCha12, whose secret comes from the system. System calls alone would take as
/// long as all else that is done with small frames. The secret is replaced after 1024 keys, so that
/// the two sides of a fork() share no more than those.
///
/// Thread safety: one thread at a time; of_this_thread() has one for each.
class mask_keys {
public:
    /// That of the thread; null if there is no memory for it.
    static mask_keys* of_this_thread() noexcept;
    /// A key straight from the system, for a thread that has no mask_keys.
    static websocket::mask_key from_system() noexcept;

    websocket::mask_key next() noexcept
    {
        if (next_ == keys_at_once)
            make_more();
        websocket::mask_key key;
        std::memcpy(key.data(), reinterpret_cast<const std::byte*>(&made_) + key.size() * next_++,
                    key.size());
        return key;
    }

private:
    static constexpr std::size_t keys_at_once = sizeof(chacha::blocks) / websocket::key_bytes;
    static constexpr std::uint32_t most_blocks = 64; ///< of a secret; each has 16 keys

    void make_more() noexcept;

    chacha::blocks made_{};
    std::size_t next_ = keys_at_once; ///< the first one that was not given
    chacha::key secret_{};
    std::uint32_t block_ = most_blocks;
};

} // namespace zlink::engine
