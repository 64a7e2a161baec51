// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/zws.hpp"

#include "engine/wire/websocket_codec.hpp"

namespace zlink::engine {
namespace {

constexpr std::string_view without_mechanism = "ZWS2.0";

} // namespace

std::vector<std::string> zws_protocols(std::string_view mechanism, bool must_authenticate)
{
    const std::string plain(without_mechanism);
    std::vector<std::string> names{plain + '/' + std::string(mechanism)};
    if (mechanism == "NULL" && !must_authenticate)
        names.push_back(plain);
    return names;
}

framing zws_framing(std::string_view protocol, bool has_connected)
{
    using side = websocket_codec::side;
    using payload = websocket_codec::payload;
    framing how;
    how.codec =
        std::make_shared<websocket_codec>(has_connected ? side::client : side::server,
                                          protocol.empty() ? payload::body_only : payload::zws);
    how.begins_with =
        protocol == without_mechanism ? introduction::routing_ids : introduction::commands;
    return how;
}

} // namespace zlink::engine
