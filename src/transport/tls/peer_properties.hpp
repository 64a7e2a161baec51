// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tls/openssl.hpp"

#include <string>
#include <utility>
#include <vector>

namespace zlink::transport::tls_parts {

/// What a finished handshake has shown of the peer, as message properties:
///
/// - TLS-Version: "TLSv1.3" or "TLSv1.2";
/// - Peer-Fingerprint: the SHA-256 of its certificate, as hex in lower case; and, if the
/// certificate
///   leads to one that is trusted,
/// - Peer-CN: the common name, in UTF-8;
/// - Peer-SAN: the alternative names, as "DNS:a.example,IP:192.0.2.1,email:a@b,URI:c".
///
/// What a certificate has not is left out, and so are names with control characters, which might be
/// taken for something else, and alternative names with a comma. Throws std::bad_alloc.
/// Thread safety: that of `ssl`.
std::vector<std::pair<std::string, std::string>> peer_properties(const SSL* ssl);

} // namespace zlink::transport::tls_parts
