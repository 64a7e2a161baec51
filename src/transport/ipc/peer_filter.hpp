// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/options.hpp"

namespace zlink::transport::ipc_filter {

/// May the process at the other end of `fd` connect? Yes if there are no filters, or if one of its
/// process id, user id, group id and the groups of its user is listed. May ask the user database.
bool admits(int fd, const options& settings);

} // namespace zlink::transport::ipc_filter
