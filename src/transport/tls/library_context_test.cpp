// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/library_context.hpp"

#include "support/scarce_memory.hpp"
#include "transport/tls/openssl.hpp"

#include <gtest/gtest.h>
#include <openssl/decoder.h>
#include <openssl/kdf.h>

#ifdef ZLINK_MEMORY_CAN_BE_SCARCE

namespace zlink::transport::tls_parts {
namespace {

using library_ptr = std::unique_ptr<OSSL_LIB_CTX, freed_by<OSSL_LIB_CTX_free>>;

template <auto fetch, auto free>
bool has(OSSL_LIB_CTX* library, const char* name, const char* properties = nullptr)
{
    auto* const found = fetch(library, name, properties);
    free(found);
    return found != nullptr;
}

constexpr auto has_digest = has<EVP_MD_fetch, EVP_MD_free>;
constexpr auto has_cipher = has<EVP_CIPHER_fetch, EVP_CIPHER_free>;
constexpr auto has_derivation = has<EVP_KDF_fetch, EVP_KDF_free>;
constexpr auto has_keys = has<EVP_KEYMGMT_fetch, EVP_KEYMGMT_free>;
constexpr auto has_exchange = has<EVP_KEYEXCH_fetch, EVP_KEYEXCH_free>;
constexpr auto has_signature = has<EVP_SIGNATURE_fetch, EVP_SIGNATURE_free>;
constexpr auto has_decoder = has<OSSL_DECODER_fetch, OSSL_DECODER_free>;

// With each of some allocations failing, while it is made and while an algorithm is looked up.
TEST(library_context, has_all_algorithms_or_is_not_made)
{
    ASSERT_TRUE(library_context()); // OpenSSL never recovers from no memory for its first steps
    bool refused = true;
    int not_made = 0;
    for (long allocations = 0; refused; allocations += 1 + allocations / 30) {
        SCOPED_TRACE(allocations);
        library_ptr made;
        {
            const test::memory_but_once some(allocations);
            made.reset(make_library_context());
            if (made) {
                has_derivation(made.get(), "HKDF", nullptr);
                has_decoder(made.get(), "ED25519", nullptr);
            }
            refused = some.was_refused();
        }
        ERR_clear_error();
        not_made += !made;
        if (!made)
            continue;
        for (const char* const name : {"SHA256", "SHA384", "SHA512"})
            EXPECT_TRUE(has_digest(made.get(), name, nullptr)) << name;
        for (const char* const name : {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"})
            EXPECT_TRUE(has_cipher(made.get(), name, nullptr)) << name;
        for (const char* const name : {"HKDF", "TLS1-PRF", "TLS13-KDF"})
            EXPECT_TRUE(has_derivation(made.get(), name, nullptr)) << name;
        for (const char* const name : {"X25519", "EC", "RSA", "RSA-PSS", "ED25519", "ED448"})
            EXPECT_TRUE(has_keys(made.get(), name, nullptr)) << name;
        for (const char* const name : {"X25519", "ECDH"})
            EXPECT_TRUE(has_exchange(made.get(), name, nullptr)) << name;
        for (const char* const name : {"ECDSA", "RSA", "ED25519", "ED448"})
            EXPECT_TRUE(has_signature(made.get(), name, nullptr)) << name;
        for (const char* const name : {"EC", "RSA", "ED25519"})
            EXPECT_TRUE(has_decoder(made.get(), name, "input=der,structure=SubjectPublicKeyInfo"))
                << name;
    }
    EXPECT_LT(0, not_made);
}

} // namespace
} // namespace zlink::transport::tls_parts

#endif
