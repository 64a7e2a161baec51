// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/handshake/handshake_error.hpp"

namespace zlink::engine {

inline constexpr std::size_t greeting_bytes = 64;
inline constexpr std::size_t max_mechanism_name_bytes = 20;

/// What a greeting tells of the protocol to speak.
enum class greeted_version : std::uint8_t {
    unversioned, ///< ZMTP 1.0, without a greeting: the first bytes are those of its identity frame.
    revision_0,  ///< ZMTP 1.0 with the greeting of 2.0.
    revision_1,  ///< ZMTP 2.0.
    zmtp3,       ///< ZMTP 3.x, see `greeting::minor()`.
};

/// The 64 bytes that open a ZMTP 3.x connection: signature (10), version (2), mechanism name (20),
/// as-server (1), filler (31). ZMTP 2.0 has 12: signature, revision, socket type. ZMTP 1.0 has
/// none.
///
/// The own greeting goes out in parts, so that a peer of any age can be recognised before it is
/// told too much: the signature unprompted, the major version once the peer's signature has proved
/// to be a versioned one, the rest once the peer's major version is known: that of 2.0 for
/// revisions 0 and 1, that of 3.1 for all others. To an unversioned peer the signature is the
/// header of an identity frame, which has to be completed.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe.
/// Errors: values; only memory exhaustion of the output throws (std::bad_alloc).
/// Lifetime: keeps nothing of its arguments.
class greeting {
public:
    /// `mechanism_name` has at most 20 characters and must equal the peer's; `routing_id_bytes` is
    /// the length of the own routing id, which old peers expect inside the signature;
    /// `socket_type` is the own ZMQ_* number, of which peers of ZMTP 2.0 are told.
    greeting(std::string_view mechanism_name, bool as_server, std::size_t routing_id_bytes,
             int socket_type) noexcept;

    /// Appends the signature to `output`.
    void start(std::vector<std::byte>& output);

    /// Takes bytes up to the end of the greeting, or up to the byte that makes it fail; returns how
    /// many. Appends to `output` whatever they call for.
    std::size_t feed(std::span<const std::byte> bytes, std::vector<std::byte>& output);

    /// Whether the peer's greeting is complete and acceptable (ours is then queued completely).
    bool done() const noexcept;

    /// `mechanism_mismatch` or `none`.
    handshake_error error() const noexcept { return error_; }

    /// Valid once done.
    greeted_version version() const noexcept { return version_; }

    /// Minor version of the protocol to speak with a peer of ZMTP 3.x, 0 or 1. Valid once done.
    std::uint8_t minor() const noexcept;

    /// What an unversioned peer has sent instead of a greeting: the first bytes (1 or 10) of its
    /// identity frame. Empty for all others. Valid once done.
    std::span<const std::byte> first_frame_bytes() const noexcept;

    /// ZMQ_* number that a peer of revision 0 or 1 announces, as received. Valid once done.
    int peer_socket_type() const noexcept;

    /// Whether the peer claims the server role of the mechanism. Informative only: servers exist
    /// that leave this byte zero. Valid once done.
    bool peer_as_server() const noexcept;

private:
    void receive(std::byte byte, std::vector<std::byte>& output);
    void receive_major(std::byte major, std::vector<std::byte>& output);
    void end_unversioned() noexcept;
    void send(std::size_t begin, std::size_t end, std::vector<std::byte>& output) const;

    std::array<std::byte, greeting_bytes> own_{};
    std::array<std::byte, greeting_bytes> received_{};
    std::size_t received_bytes_ = 0;
    std::size_t total_bytes_ = greeting_bytes; ///< as far as it is known
    std::byte socket_type_;
    greeted_version version_ = greeted_version::zmtp3;
    handshake_error error_ = handshake_error::none;
};

} // namespace zlink::engine
