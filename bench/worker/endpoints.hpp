// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"

#include <string>
#include <string_view>

namespace zlink::bench::worker {

/// Where to bind: a free port on the loopback interface, a file of that name in the directory, or
/// that name within the process.
std::string endpoint_to_bind(transport over, std::string_view ipc_directory, std::string_view name);

/// Throws `unsupported` if the library does not have the transport.
void require_transport(transport over);

} // namespace zlink::bench::worker
