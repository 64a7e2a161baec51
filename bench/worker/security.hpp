// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"
#include "worker/zmq_handles.hpp"

namespace zlink::bench::worker {

/// Sets the options of the cell's mechanism, and with TLS its certificate, on the socket that
/// binds. Throws `unsupported` if the library does not have the mechanism.
void secure_server(socket& target, const cell& what);

/// The same for the socket that connects. It knows the server's public key, and with TLS the
/// authority that has signed the server's certificate.
void secure_client(socket& target, const cell& what);

} // namespace zlink::bench::worker
