// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/handshake_error.hpp"

namespace zlink::engine {

inline constexpr std::size_t greeting_bytes = 64;
inline constexpr std::size_t max_mechanism_name_bytes = 20;

/// The 64 bytes that open a ZMTP 3.x connection: signature (10), version (2), mechanism name (20),
/// as-server (1), filler (31).
///
/// The own greeting goes out in three parts, so that a peer of any age can be recognised before it
/// is told too much: the signature unprompted, the major version once the peer's signature has
/// proved to be a versioned one, the rest once the peer's major version is known. Peers older than
/// 3.0 are recognised at those same two points, which is where support for them can branch off.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe.
/// Errors: values; only memory exhaustion of the output throws (std::bad_alloc).
/// Lifetime: keeps nothing of its arguments.
class greeting {
public:
    /// `mechanism_name` has at most 20 characters and must equal the peer's; `routing_id_bytes` is
    /// the length of the own routing id, which old peers expect inside the signature.
    greeting(std::string_view mechanism_name, bool as_server,
             std::size_t routing_id_bytes) noexcept;

    /// Appends the signature to `output`.
    void start(std::vector<std::byte>& output);

    /// Takes bytes up to the end of the greeting, or up to the byte that makes it fail; returns how
    /// many. Appends to `output` whatever they call for.
    std::size_t feed(std::span<const std::byte> bytes, std::vector<std::byte>& output);

    /// Whether the peer's greeting is complete and acceptable (ours is then queued completely).
    bool done() const noexcept;

    /// `unsupported_version`, `mechanism_mismatch` or `none`.
    handshake_error error() const noexcept { return error_; }

    /// Minor version of the protocol to speak, 0 or 1; the major version is 3. Valid once done.
    std::uint8_t minor() const noexcept;

    /// Whether the peer claims the server role of the mechanism. Informative only: servers exist
    /// that leave this byte zero. Valid once done.
    bool peer_as_server() const noexcept;

private:
    void receive(std::byte byte, std::vector<std::byte>& output);
    void send(std::size_t begin, std::size_t end, std::vector<std::byte>& output) const;

    std::array<std::byte, greeting_bytes> own_{};
    std::array<std::byte, greeting_bytes> received_{};
    std::size_t received_bytes_ = 0;
    handshake_error error_ = handshake_error::none;
};

} // namespace zlink::engine
