// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/wire/frame_codec.hpp"
#include "transport/scheme.hpp"

#include <memory>

namespace zlink::core {

/// A transport as it is compiled in: how connections are made, and how frames lie on them.
struct transport_row {
    const transport::scheme* scheme;
    /// The codec of one connection, for its handshake commands and its traffic; null: as ZMTP says
    /// for the version of the peer. Throws std::bad_alloc.
    std::shared_ptr<engine::frame_codec> (*make_codec)() = nullptr;
};

} // namespace zlink::core
