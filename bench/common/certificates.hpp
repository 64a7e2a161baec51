// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace zlink::bench {

/// What the two ends of a connection with TLS need, as PEM texts: a server for localhost and
/// 127.0.0.1, and the authority that has signed it. ECDSA with P-256, valid until 2120.
///
/// They are the same in every run and on both sides, so that nothing has to be exchanged, and
/// everybody knows the key: they protect nothing.
extern const char* const authority_certificate;
extern const char* const server_certificate;
extern const char* const server_key;

} // namespace zlink::bench
