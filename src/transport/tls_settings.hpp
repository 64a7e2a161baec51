// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace zlink::transport {

/// What the options ZMQ_TLS_* say. A certificate, a key and a list of trusted certificates are
/// each the text of a PEM file, or the path of one; empty = none.
struct tls_settings {
    std::string certificate;    ///< of this side, then those that lead to a trusted one
    std::string key;            ///< of the certificate
    std::string password;       ///< of the key
    std::string ca;             ///< certificates of the peer are trusted that lead to one of these
    std::string host;           ///< who the server has to be; empty = the host connected to
    std::string ciphers;        ///< names as OpenSSL has them, with ':' between; empty = good ones
    std::string pinned;         ///< SHA-256 of public keys of the peer as hex, with ',' between
    int min_version = 0x0303;   ///< as TLS numbers its versions
    int client_certificate = 0; ///< a server: 0 = asks for none, 1 = it may be missing, 2 = not
    bool verify = true;         ///< a client checks the certificate and the name of the server
    bool trust_system = true;   ///< a client without `ca` trusts what the system trusts

    bool operator==(const tls_settings&) const = default;
};

} // namespace zlink::transport
