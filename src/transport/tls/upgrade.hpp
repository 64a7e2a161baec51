// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/exchange.hpp"
#include "transport/tls/context.hpp"

#include <memory>

namespace zlink::transport::tls_parts {

/// The TLS handshake (RFC 8446, RFC 5246); the stream that takes the place of the other one
/// encrypts what is written and decrypts what is read. Throws std::bad_alloc.
///
/// Its errors: EPROTO: the other side speaks no TLS or breaks its rules. EPROTONOSUPPORT: no
/// version or cipher that both sides accept. EKEYREJECTED: the certificate is not trusted, by this
/// side or by the other. EKEYEXPIRED: it is not valid yet, or not any more. EKEYREVOKED. ENOKEY: a
/// client has none and should. EADDRNOTAVAIL: it is for another host.
std::unique_ptr<upgrade> make_upgrade(std::shared_ptr<context> shared);

} // namespace zlink::transport::tls_parts
