// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/library_context.hpp"

#include "transport/tls/openssl.hpp"

#include <bitset>
#include <cstddef>
#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <string>
#include <string_view>

namespace zlink::transport::tls_parts {
namespace {

using library_ptr = std::unique_ptr<OSSL_LIB_CTX, freed_by<OSSL_LIB_CTX_free>>;

/// A kind of algorithms that handshakes, records and certificates use.
struct operation {
    int id;
    bool (*can_fetch)(OSSL_LIB_CTX*, const char* name, const char* properties);
};

template <auto fetch, auto free>
bool can_fetch(OSSL_LIB_CTX* library, const char* name, const char* properties)
{
    auto* const found = fetch(library, name, properties);
    free(found);
    return found != nullptr;
}

constexpr operation operations[] = {
    {OSSL_OP_DIGEST, can_fetch<EVP_MD_fetch, EVP_MD_free>},
    {OSSL_OP_CIPHER, can_fetch<EVP_CIPHER_fetch, EVP_CIPHER_free>},
    {OSSL_OP_MAC, can_fetch<EVP_MAC_fetch, EVP_MAC_free>},
    {OSSL_OP_KDF, can_fetch<EVP_KDF_fetch, EVP_KDF_free>},
    {OSSL_OP_RAND, can_fetch<EVP_RAND_fetch, EVP_RAND_free>},
    {OSSL_OP_KEYMGMT, can_fetch<EVP_KEYMGMT_fetch, EVP_KEYMGMT_free>},
    {OSSL_OP_KEYEXCH, can_fetch<EVP_KEYEXCH_fetch, EVP_KEYEXCH_free>},
    {OSSL_OP_SIGNATURE, can_fetch<EVP_SIGNATURE_fetch, EVP_SIGNATURE_free>},
    {OSSL_OP_ASYM_CIPHER, can_fetch<EVP_ASYM_CIPHER_fetch, EVP_ASYM_CIPHER_free>},
    {OSSL_OP_KEM, can_fetch<EVP_KEM_fetch, EVP_KEM_free>},
    {OSSL_OP_DECODER, can_fetch<OSSL_DECODER_fetch, OSSL_DECODER_free>},
};

constexpr std::size_t most_algorithms = 1024; // of 3.0: 250
using algorithms = std::bitset<most_algorithms>;

// There are several of one name which differ in their properties, such as decoders of keys.
bool has(OSSL_LIB_CTX* library, const operation& kind, const OSSL_ALGORITHM& algorithm)
{
    const std::string_view names(algorithm.algorithm_names);
    const std::string first(names.substr(0, names.find(':')));
    return kind.can_fetch(library, first.c_str(), algorithm.property_definition);
}

// Which of those that the provider names cannot be had, by their numbers.
algorithms missing(OSSL_LIB_CTX* library, const OSSL_PROVIDER* provider)
{
    algorithms found_none;
    std::size_t number = 0;
    for (const operation& kind : operations) {
        int is_not_to_be_kept = 0;
        const OSSL_ALGORITHM* const all =
            OSSL_PROVIDER_query_operation(provider, kind.id, &is_not_to_be_kept);
        for (const OSSL_ALGORITHM* each = all; each && each->algorithm_names; ++each, ++number)
            if (!has(library, kind, *each))
                found_none.set(number % most_algorithms);
        OSSL_PROVIDER_unquery_operation(provider, kind.id, all);
    }
    return found_none;
}

// What it needs for its first steps in the process, OpenSSL asks for once: it does not recover from
// having had no memory then. So that is looked for before.
bool begin() noexcept
{
    constexpr std::size_t first_steps_bytes = 256 * 1024;
    void* const room = OPENSSL_malloc(first_steps_bytes);
    OPENSSL_free(room);
    // As threads may still be writing while the process exits, OpenSSL is not to clean up then. If
    // an application has made it do so, see connection.cpp.
    return room &&
           OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1 &&
           OSSL_LIB_CTX_get0_global_default() && SSL_get_ex_data_X509_STORE_CTX_idx() >= 0;
}

// Its generators are made with the first number.
bool has_random_numbers(OSSL_LIB_CTX* library) noexcept
{
    unsigned char byte = 0;
    return RAND_bytes_ex(library, &byte, sizeof byte, 0) == 1 &&
           RAND_priv_bytes_ex(library, &byte, sizeof byte, 0) == 1;
}

library_ptr make()
{
    if (!begin())
        return nullptr;
    const own_errors ours;
    algorithms missing_before;
    for (int times = 0; times < 2; ++times) {
        library_ptr made(OSSL_LIB_CTX_new());
        // OpenSSL would load it when it is needed first, and without memory then, never again.
        const OSSL_PROVIDER* const provider =
            made ? OSSL_PROVIDER_load(made.get(), "default") : nullptr;
        if (!provider)
            return nullptr;
        const algorithms now = missing(made.get(), provider);
        // Those that are missing twice are so in this OpenSSL, and not for want of memory.
        const bool is_complete = now.none() || (times != 0 && now == missing_before);
        if (is_complete && has_random_numbers(made.get()))
            return made;
        missing_before = now;
    }
    return nullptr;
}

} // namespace

OSSL_LIB_CTX* make_library_context() noexcept
{
    try {
        return make().release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

OSSL_LIB_CTX* library_context() noexcept
{
    return made_once<make_library_context>();
}

} // namespace zlink::transport::tls_parts
