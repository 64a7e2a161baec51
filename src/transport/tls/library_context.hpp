// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/types.h>

namespace zlink::transport::tls_parts {

/// The library's own context of OpenSSL, for which no configuration is read. Made when it is first
/// needed, in some 2 ms, and never freed. Null: no memory; the next call tries again. Any thread.
OSSL_LIB_CTX* library_context() noexcept;

/// A new one, in which all algorithms have been looked up: what OpenSSL has no memory for when it
/// looks for it first, it takes for missing ever after. To be freed with OSSL_LIB_CTX_free(). Null:
/// no memory.
OSSL_LIB_CTX* make_library_context() noexcept;

} // namespace zlink::transport::tls_parts
