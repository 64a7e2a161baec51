// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/wire/frame_codec.hpp"

#include <cstdint>
#include <memory>

namespace zlink::engine {

/// What the two sides begin with, before there are messages.
enum class introduction : std::uint8_t {
    greeting, ///< As ZMTP says: greetings, then the commands of the mechanism.
    /// The commands of the mechanism at once: both sides know of which one, and the peer counts as
    /// one of ZMTP 3.0.
    commands,
    /// Each side's routing id in a message. There is no mechanism, and nothing is known of the
    /// peer's type.
    routing_ids,
};

/// How a connection is framed that is not framed as ZMTP says, from its handshake on.
struct framing {
    std::shared_ptr<frame_codec> codec{}; ///< null: as ZMTP says for the version of the peer
    introduction begins_with = introduction::greeting;
};

} // namespace zlink::engine
