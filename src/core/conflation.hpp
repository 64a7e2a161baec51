// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/options.hpp"
#include "engine/socket_types.hpp"

namespace zlink::core {

/// Does a socket keep only the newest message it sends to a peer? ZMQ_CONFLATE, for the types it
/// is meant for; subscriptions are never replaced by one another.
inline bool conflates_sending(const socket_options& options) noexcept
{
    namespace types = engine::socket_types;
    return options.conflate && (options.type == types::push || options.type == types::pub ||
                                options.type == types::dealer);
}

/// The same for what it receives from a peer.
inline bool conflates_receiving(const socket_options& options) noexcept
{
    namespace types = engine::socket_types;
    return options.conflate && (options.type == types::pull || options.type == types::sub ||
                                options.type == types::dealer);
}

} // namespace zlink::core
