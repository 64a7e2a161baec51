// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/secret.hpp"
#include "engine/curve/box.hpp"
#include "engine/curve/mac.hpp"
#include "engine/wire/frame_cipher.hpp"

#include <cstdint>

namespace zlink::engine::curve {

/// The cipher of a connection whose handshake was that of CURVE: each frame becomes a MESSAGE
/// command of CurveZMQ (RFC 26), with a counter that goes up by one, so that nobody can repeat a
/// frame, put it out of order or take it out unnoticed.
///
/// The frames on the wire carry no flags: those of the message are sealed along with its body.
class cipher final : public frame_cipher {
public:
    /// Which side this one is. The two count apart.
    enum class role : std::uint8_t { client, server };

    /// `shared`: agreed from the two short-term keys. The counters are those of the last command
    /// that was sent and that was received. Throws std::bad_alloc.
    cipher(role own, const std::array<std::byte, key_bytes>& shared, std::uint64_t last_sent,
           std::uint64_t last_received);

    std::size_t sealed_bytes(std::size_t plain_bytes) const noexcept override;
    std::uint8_t outer_flags(std::uint8_t flags) const noexcept override;
    bool seal(std::uint8_t flags, std::span<const std::byte> body,
              std::span<std::byte> out) noexcept override;
    opened open(std::uint8_t flags, std::span<std::byte> body) noexcept override;

private:
    /// Derived from the shared one and the part of the nonce that is always the same.
    struct keys {
        std::array<std::byte, key_bytes> sending;
        std::array<std::byte, key_bytes> receiving;
    };

    base::secret_object<keys> keys_;
    mac_maker sent_macs_;
    mac_maker received_macs_;
    std::uint64_t sent_;
    std::uint64_t received_;
};

} // namespace zlink::engine::curve
