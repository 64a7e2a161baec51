// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

/// What CurveZMQ (RFC 26) is made of: boxes of X25519, XSalsa20 and Poly1305, by libsodium.
///
/// Thread safety: distinct objects: safe. The functions are pure, apart from random_bytes().
/// Errors: values; only memory exhaustion throws (std::bad_alloc).
namespace zlink::engine::curve {

inline constexpr std::size_t key_bytes = 32;
inline constexpr std::size_t nonce_bytes = 24;
/// A sealed text is longer than the plain one by this.
inline constexpr std::size_t mac_bytes = 16;

using public_key = std::array<std::byte, key_bytes>;
using nonce = std::array<std::byte, nonce_bytes>;

/// Is libsodium usable? It is made ready by the first call.
bool is_available() noexcept;

/// Fills `out` (at most 256 bytes) with random bytes of the system. False if it has none.
bool random_bytes(std::span<std::byte> out) noexcept;
/// How a handshake gets its random bytes: as random_bytes().
using random_source = std::function<bool(std::span<std::byte>)>;

/// The public key of a secret one.
public_key public_key_of(std::span<const std::byte, key_bytes> secret) noexcept;

/// Makes the key that the owner of `mine` shares with the owner of `theirs`. False if `theirs` is
/// no good key.
bool share(std::array<std::byte, key_bytes>& shared, const public_key& theirs,
           std::span<const std::byte, key_bytes> mine) noexcept;

/// A nonce of a prefix of 16 characters and a counter.
nonce counted_nonce(std::string_view prefix, std::uint64_t counter) noexcept;
/// A nonce of a prefix of 8 characters and 16 random bytes.
nonce random_nonce(std::string_view prefix, std::span<const std::byte, 16> random) noexcept;

/// Seals `plain` to `out`, which is longer by mac_bytes. They may not overlap.
void seal(std::span<std::byte> out, std::span<const std::byte> plain, const nonce& with,
          const std::array<std::byte, key_bytes>& key) noexcept;
/// Opens `sealed` to `out`, which is shorter by mac_bytes. False if it was not sealed like this.
bool open(std::span<std::byte> out, std::span<const std::byte> sealed, const nonce& with,
          const std::array<std::byte, key_bytes>& key) noexcept;

/// Are the bytes the same? Takes as long whatever they are.
bool are_same(std::span<const std::byte> a, std::span<const std::byte> b) noexcept;

} // namespace zlink::engine::curve
