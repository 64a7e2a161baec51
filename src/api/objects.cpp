// SPDX-License-Identifier: Apache-2.0
#include "api/objects.hpp"

namespace zlink::api {

// Never destroyed: applications may leave sockets and contexts open until the process ends, and
// threads of theirs may still be in a call then.
handle_table<core::context>& contexts() noexcept
{
    static auto& table = *new handle_table<core::context>;
    return table;
}

handle_table<socket_object>& sockets() noexcept
{
    static auto& table = *new handle_table<socket_object>;
    return table;
}

} // namespace zlink::api
