// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"
#include "worker/zmq_handles.hpp"

namespace zlink::bench::worker {

/// Sets the options of a mechanism on the socket that binds. Throws `unsupported` if the library
/// does not have it.
void secure_server(socket& target, mechanism chosen);

/// The same for the socket that connects, which knows the server's public key.
void secure_client(socket& target, mechanism chosen);

} // namespace zlink::bench::worker
