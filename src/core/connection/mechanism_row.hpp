// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/mechanism.hpp"

#include <memory>
#include <span>

namespace zlink::core {

struct socket_options;

/// A security mechanism as it is compiled in.
struct mechanism_row {
    int number; ///< as ZMQ_MECHANISM says: ZMQ_NULL, ZMQ_PLAIN, ...
    /// The mechanism of one connection, made as the options say. Throws std::bad_alloc.
    std::unique_ptr<engine::mechanism> (*make)(const socket_options& options);
};

/// The one that the options choose; `rows` is not empty.
const mechanism_row& choose_mechanism(std::span<const mechanism_row> rows,
                                      const socket_options& options) noexcept;

} // namespace zlink::core
