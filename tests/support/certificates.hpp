// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zlink::test {

/// What a certificate is to say.
struct certificate_wish {
    std::string name = "localhost"; ///< its common name
    /// As OpenSSL writes them; empty: none.
    std::string other_names = "DNS:localhost,IP:127.0.0.1,IP:::1";
    std::string key_usage = "serverAuth,clientAuth"; ///< as OpenSSL writes it
    int valid_from_s = -3600;                        ///< relative to now
    int valid_to_s = 3600;
    bool is_authority = false;
};

/// A certificate and its key, as PEM texts.
class certificate {
public:
    /// Signed by itself.
    static certificate self_signed(const certificate_wish& wish = {});
    /// An authority to sign others.
    static certificate authority(const std::string& name = "test authority");
    /// Signed by this one.
    certificate sign(const certificate_wish& wish = {}) const;

    const std::string& text() const noexcept { return text_; }
    const std::string& key() const noexcept { return key_; }
    /// The key, encrypted.
    std::string key(const std::string& password) const;
    /// SHA-256 of the public key as hex.
    std::string public_key_hash() const;
    /// SHA-256 of the certificate as hex.
    std::string fingerprint() const;

private:
    static certificate make(const certificate_wish& wish, const certificate* issuer);

    std::string text_;
    std::string key_;
};

} // namespace zlink::test
