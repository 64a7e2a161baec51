// SPDX-License-Identifier: Apache-2.0
#include "engine/curve/mac.hpp"

#include "engine/curve/raw_bytes.hpp"

#include <new>
#include <sodium.h>

#if ZLINK_HAS_OPENSSL
#include <openssl/crypto.h>
#include <openssl/evp.h>
#endif

namespace zlink::engine::curve {
namespace {

// Below this, one is as fast as the other.
[[maybe_unused]] constexpr std::size_t long_text_bytes = 256;

} // namespace

#if ZLINK_HAS_OPENSSL

namespace {

// In a library context of its own, for which OpenSSL reads no configuration; and as threads may
// still seal while the process exits, OpenSSL is not to clean up then.
EVP_MAC* algorithm() noexcept
{
    static EVP_MAC* const fetched = [] {
        OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
        OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
        return library ? EVP_MAC_fetch(library, "POLY1305", nullptr) : nullptr;
    }();
    return fetched;
}

} // namespace

struct mac_maker::state {
    state() noexcept : context(algorithm() ? EVP_MAC_CTX_new(algorithm()) : nullptr) {}
    ~state() { EVP_MAC_CTX_free(context); }
    state(state&&) = delete;

    bool make(mac& made, std::span<const std::byte> text,
              std::span<const std::byte, key_bytes> key) noexcept
    {
        std::size_t size = 0;
        return EVP_MAC_init(context, raw(key.data()), key.size(), nullptr) == 1 &&
               EVP_MAC_update(context, raw(text.data()), text.size()) == 1 &&
               EVP_MAC_final(context, raw(made.data()), &size, made.size()) == 1 &&
               size == made.size();
    }

    EVP_MAC_CTX* const context;
};

#else

struct mac_maker::state {};

#endif

mac_maker::mac_maker() noexcept = default;
mac_maker::~mac_maker() = default;

mac mac_maker::make(std::span<const std::byte> text,
                    std::span<const std::byte, key_bytes> key) noexcept
{
    mac made;
#if ZLINK_HAS_OPENSSL
    if (text.size() >= long_text_bytes && !is_without_state_) {
        if (!state_)
            state_.reset(new (std::nothrow) state);
        if (state_ && state_->context && state_->make(made, text, key))
            return made;
        is_without_state_ = true;
    }
#endif
    crypto_onetimeauth_poly1305(raw(made.data()), raw(text.data()), text.size(), raw(key.data()));
    return made;
}

} // namespace zlink::engine::curve
