// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/handshake/framing.hpp"
#include "transport/scheme.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace zlink::core {

/// A transport as it is compiled in: how connections are made, and how frames lie on them.
struct transport_row {
    const transport::scheme* scheme;
    /// How one connection is framed; null: as ZMTP says. Asked once its upgrades are done, as they
    /// may have agreed on a protocol (see transport::upgrade), on which it may depend, as on the
    /// side that has connected. An empty protocol: none was offered, as the socket exchanges plain
    /// bytes (STREAM, ZMQ_ROUTER_RAW); each frame is a chunk of them. Throws std::bad_alloc.
    engine::framing (*frame)(std::string_view protocol, bool has_connected) = nullptr;
    /// The names of the protocols that an upgrade may agree on for a socket with this mechanism,
    /// the best first; null: none. An upgrade is a matter of the transport and knows nothing of
    /// mechanisms; it negotiates names. Throws std::bad_alloc.
    std::vector<std::string> (*protocols)(std::string_view mechanism,
                                          bool must_authenticate) = nullptr;
    /// Are the plain bytes of STREAM and ZMQ_ROUTER_RAW framed as well? Without, they pass as they
    /// are, however ZMTP is framed.
    bool frames_plain_bytes = false;
};

} // namespace zlink::core
