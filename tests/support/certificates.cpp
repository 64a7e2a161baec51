// SPDX-License-Identifier: Apache-2.0
#include "support/certificates.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace zlink::test {
namespace {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* object) const
    {
        Free(object);
    }
};
using x509_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;

void check(bool well, const char* what)
{
    if (!well)
        throw std::runtime_error(what);
}

std::string text_of(BIO* bio)
{
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
}

key_ptr read_key(const std::string& text)
{
    const bio_ptr in(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    return key_ptr(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
}

x509_ptr read_certificate(const std::string& text)
{
    const bio_ptr in(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    return x509_ptr(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

void extend(X509* made, X509* issuer, int id, const std::string& value)
{
    if (value.empty())
        return;
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, made, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    check(extension != nullptr, "X509V3_EXT_conf_nid");
    X509_add_ext(made, extension, -1);
    X509_EXTENSION_free(extension);
}

std::string hex_of(const unsigned char (&digest)[32])
{
    std::string hex;
    for (const unsigned char byte : digest) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        hex += digits;
    }
    return hex;
}

} // namespace

certificate certificate::make(const certificate_wish& wish, const certificate* issuer)
{
    const key_ptr key(EVP_EC_gen("P-256"));
    const x509_ptr made(X509_new());
    check(key && made, "no key");
    X509_set_version(made.get(), 2);
    std::uint32_t serial = 0;
    RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial | 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), wish.valid_from_s);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), wish.valid_to_s);
    X509_set_pubkey(made.get(), key.get());
    X509_NAME* const name = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1, -1,
                               0);
    const x509_ptr signer = issuer ? read_certificate(issuer->text_) : nullptr;
    X509* const by = signer ? signer.get() : made.get();
    X509_set_issuer_name(made.get(), X509_get_subject_name(by));
    extend(made.get(), by, NID_basic_constraints,
           wish.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
    extend(made.get(), by, NID_subject_key_identifier, "hash");
    extend(made.get(), by, NID_subject_alt_name, wish.other_names);
    extend(made.get(), by, NID_ext_key_usage, wish.key_usage);
    const key_ptr signing = issuer ? read_key(issuer->key_) : nullptr;
    check(X509_sign(made.get(), signing ? signing.get() : key.get(), EVP_sha256()) != 0,
          "X509_sign");

    certificate result;
    const bio_ptr out(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(out.get(), made.get());
    result.text_ = text_of(out.get());
    const bio_ptr key_out(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    result.key_ = text_of(key_out.get());
    return result;
}

certificate certificate::self_signed(const certificate_wish& wish)
{
    return make(wish, nullptr);
}

certificate certificate::authority(const std::string& name)
{
    return make({.name = name, .other_names = "", .key_usage = "", .is_authority = true}, nullptr);
}

certificate certificate::sign(const certificate_wish& wish) const
{
    return make(wish, this);
}

std::string certificate::key(const std::string& password) const
{
    const key_ptr key = read_key(key_);
    const bio_ptr out(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(),
                             reinterpret_cast<const unsigned char*>(password.data()),
                             static_cast<int>(password.size()), nullptr, nullptr);
    return text_of(out.get());
}

std::string certificate::public_key_hash() const
{
    const x509_ptr own = read_certificate(text_);
    unsigned char* key = nullptr;
    const int bytes = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(own.get()), &key);
    unsigned char digest[32];
    unsigned size = 0;
    EVP_Digest(key, static_cast<std::size_t>(bytes), digest, &size, EVP_sha256(), nullptr);
    OPENSSL_free(key);
    return hex_of(digest);
}

std::string certificate::fingerprint() const
{
    unsigned char digest[32];
    unsigned size = 0;
    X509_digest(read_certificate(text_).get(), EVP_sha256(), digest, &size);
    return hex_of(digest);
}

} // namespace zlink::test
