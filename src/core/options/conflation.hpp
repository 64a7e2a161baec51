// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options/options.hpp"

namespace zlink::core {

/// Does a message replace the one that waits to be sent?
inline bool conflates_sending(const socket_options& options) noexcept
{
    return options.conflate && options.traits->conflates_sent;
}

/// Does a message replace the one that waits to be received?
inline bool conflates_receiving(const socket_options& options) noexcept
{
    return options.conflate && options.traits->conflates_received;
}

} // namespace zlink::core
