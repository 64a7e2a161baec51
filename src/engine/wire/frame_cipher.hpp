// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::engine {

/// Why a frame could not be opened.
enum class cipher_fault : std::uint8_t {
    none,
    not_encrypted,   ///< it is no sealed frame
    too_short,       ///< for a sealed frame
    out_of_sequence, ///< it is repeated or reordered, or one before it is missing
    not_authentic,   ///< it was sealed with another key, or has been changed
};

/// How the frames of one connection are encrypted: the middle layer of a `wire`, which a security
/// mechanism brings once the handshake is done.
///
/// Thread safety: seal() is called by one thread at a time, in the order of the bytes on the wire;
/// open() by one thread at a time, in the order of arrival; a seal and an open may run at the same
/// time, so the two directions share no state that changes. The rest is callable from both.
/// Errors: by value; a failure ends the connection.
class frame_cipher {
public:
    virtual ~frame_cipher() = default;

    /// The size of the sealed body of a frame whose plain body has `plain_bytes`.
    virtual std::size_t sealed_bytes(std::size_t plain_bytes) const noexcept = 0;
    /// The flags of the outer frame when those of the inner one are `flags`, see frame_head::flags.
    virtual std::uint8_t outer_flags(std::uint8_t flags) const noexcept = 0;

    /// Seals a frame with the (inner) flags and the plain body to `out`, which has exactly
    /// sealed_bytes() and does not overlap the body. False when all counters of
    /// the key are used: the connection has to end.
    virtual bool seal(std::uint8_t flags, std::span<const std::byte> body,
                      std::span<std::byte> out) noexcept = 0;

    struct opened {
        cipher_fault fault = cipher_fault::not_authentic;
        std::uint8_t flags = 0;      ///< of the inner frame
        std::span<std::byte> body{}; ///< the plain body, which lies within the sealed one
    };
    /// Opens the sealed body of a frame with the (outer) flags in place. Fails for what the peer
    /// cannot have sealed, or not at this place of the stream.
    virtual opened open(std::uint8_t flags, std::span<std::byte> body) noexcept = 0;
};

} // namespace zlink::engine
