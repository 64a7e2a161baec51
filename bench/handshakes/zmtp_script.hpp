// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/tls.hpp"

namespace zlink::bench {

/// Just enough of ZMTP 3.1 for OpenSSL alone to stand on either side of a connection of zlink:
/// greeting and READY both ways, then a message from the client, a PUSH, to the server, a PULL.
/// Between two such sides the same bytes are exchanged. Throws std::runtime_error.
void exchange_as_client(bare::tls_connection& tls);
void exchange_as_server(bare::tls_connection& tls);

/// The body of the message.
inline constexpr char handshake_message[] = "arrived!";
inline constexpr std::size_t handshake_message_bytes = sizeof handshake_message - 1;

} // namespace zlink::bench
