// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/mechanism.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace zlink::engine {
class authenticator;
}

namespace zlink::core {

struct socket_options;

/// Whether the handler of ZAP is asked if a peer is admitted.
enum class authentication : std::uint8_t {
    none,       ///< All are admitted.
    if_handled, ///< All are admitted where there is no handler.
    required,   ///< Nobody is admitted where there is no handler.
    impossible, ///< Nobody is admitted: the options contradict each other.
};

/// A security mechanism as it is compiled in.
struct mechanism_row {
    int number; ///< as ZMQ_MECHANISM says: ZMQ_NULL, ZMQ_PLAIN, ...
    authentication (*authenticates)(const socket_options& options) noexcept;
    /// The mechanism of one connection, made as the options say; it asks `asked`, which is null if
    /// nobody is to be asked. Throws std::bad_alloc.
    std::unique_ptr<engine::mechanism> (*make)(const socket_options& options,
                                               std::shared_ptr<engine::authenticator> asked);
};

/// The one that the options choose; null if that is not compiled in.
const mechanism_row* choose_mechanism(std::span<const mechanism_row> rows,
                                      const socket_options& options) noexcept;

} // namespace zlink::core
