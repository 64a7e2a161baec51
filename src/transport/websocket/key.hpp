// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The keys of the opening of a WebSocket (RFC 6455, section 4).
///
/// Thread safety: pure functions, but for the random bytes.
/// Errors: only memory exhaustion throws (std::bad_alloc).
namespace zlink::transport::websocket {

/// SHA-1 (FIPS 180-4). It protects nothing here, but that is how the answer to a key is made. It is
/// written out because the libraries at hand do not offer it: those of Boost are in namespaces that
/// are not for users (Beast, UUID, whose digest has changed its type between releases), and OpenSSL
/// is optional.
std::array<std::byte, 20> sha1(std::span<const std::byte> bytes);

/// With padding (RFC 4648, section 4).
std::string base64(std::span<const std::byte> bytes);

/// What a server answers to the key of a client.
std::string accept_value(std::string_view key);

/// A key for one connection: 16 random bytes as base64. Empty if the system gives none.
std::string fresh_key();

} // namespace zlink::transport::websocket
