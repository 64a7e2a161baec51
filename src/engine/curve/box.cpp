// SPDX-License-Identifier: Apache-2.0
#include "engine/curve/box.hpp"

#include "engine/bytes.hpp"
#include "engine/curve/counter.hpp"
#include "engine/curve/raw_bytes.hpp"

#include <algorithm>
#include <sodium.h>
#include <unistd.h>

namespace zlink::engine::curve {
namespace {

static_assert(key_bytes == crypto_box_PUBLICKEYBYTES && key_bytes == crypto_box_SECRETKEYBYTES &&
              key_bytes == crypto_box_BEFORENMBYTES && key_bytes == crypto_secretbox_KEYBYTES);
static_assert(nonce_bytes == crypto_secretbox_NONCEBYTES);
static_assert(mac_bytes == crypto_secretbox_MACBYTES);

} // namespace

bool is_available() noexcept
{
    static const bool available = sodium_init() >= 0;
    return available;
}

// Not by libsodium, which ends the process if the system has none.
bool random_bytes(std::span<std::byte> out) noexcept
{
    return getentropy(out.data(), out.size()) == 0;
}

public_key public_key_of(std::span<const std::byte, key_bytes> secret) noexcept
{
    public_key result{};
    crypto_scalarmult_base(raw(result.data()), raw(secret.data()));
    return result;
}

bool share(std::array<std::byte, key_bytes>& shared, const public_key& theirs,
           std::span<const std::byte, key_bytes> mine) noexcept
{
    return crypto_box_beforenm(raw(shared.data()), raw(theirs.data()), raw(mine.data())) == 0;
}

nonce counted_nonce(std::string_view prefix, std::uint64_t counter) noexcept
{
    nonce result{};
    std::ranges::copy(as_bytes(prefix), result.begin());
    put_counter(result.data() + 16, counter);
    return result;
}

nonce random_nonce(std::string_view prefix, std::span<const std::byte, 16> random) noexcept
{
    nonce result{};
    std::ranges::copy(as_bytes(prefix), result.begin());
    std::ranges::copy(random, result.begin() + 8);
    return result;
}

void seal(std::span<std::byte> out, std::span<const std::byte> plain, const nonce& with,
          const std::array<std::byte, key_bytes>& key) noexcept
{
    crypto_secretbox_easy(raw(out.data()), raw(plain.data()), plain.size(), raw(with.data()),
                          raw(key.data()));
}

bool open(std::span<std::byte> out, std::span<const std::byte> sealed, const nonce& with,
          const std::array<std::byte, key_bytes>& key) noexcept
{
    return sealed.size() >= mac_bytes &&
           crypto_secretbox_open_easy(raw(out.data()), raw(sealed.data()), sealed.size(),
                                      raw(with.data()), raw(key.data())) == 0;
}

bool are_same(std::span<const std::byte> a, std::span<const std::byte> b) noexcept
{
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace zlink::engine::curve
