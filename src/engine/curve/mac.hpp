// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/curve/box.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace zlink::engine::curve {

using mac = std::array<std::byte, mac_bytes>;

/// Poly1305: computes message authentication codes (MACs). Each key is used for one text only.
///
/// OpenSSL takes half as long for it as libsodium. It is used where the build has it, and for texts
/// that are long enough to be worth its preparation; the results are the same.
///
/// Thread safety: distinct objects: safe.
class mac_maker {
public:
    mac_maker() noexcept;
    ~mac_maker();
    mac_maker(mac_maker&&) = delete;

    mac make(std::span<const std::byte> text, std::span<const std::byte, key_bytes> key) noexcept;

private:
    struct state; // of OpenSSL

    std::unique_ptr<state> state_;  ///< from the first long text on
    bool is_without_state_ = false; ///< there was no memory for one: libsodium needs none
};

} // namespace zlink::engine::curve
