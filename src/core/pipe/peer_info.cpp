// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/peer_info.hpp"

#include "engine/handshake/peer.hpp"
#include "transport/stream.hpp"

#include <utility>
#include <vector>

namespace zlink::core {

peer_info describe_peer(const engine::remote_peer& remote, const transport::stream_info& connection)
{
    peer_info info;
    info.routing_id = remote.routing_id;
    info.socket_type = remote.socket_type;
    // The first of a name counts: what is known of the connection comes before what the peer says.
    std::vector<std::pair<std::string, std::string>> properties;
    if (!connection.peer_address.empty())
        properties.emplace_back("Peer-Address", connection.peer_address);
    for (const auto& [name, value] : connection.properties)
        properties.emplace_back(name, value);
    properties.emplace_back("__fd", std::to_string(connection.descriptor));
    // Documented under this name, sent under another.
    if (!remote.routing_id.empty())
        properties.emplace_back("Routing-Id", remote.routing_id);
    for (const auto& property : remote.properties)
        if (!transport::peer_property::is_reserved(property.name))
            properties.emplace_back(property.name, property.value);
    info.properties = metadata_ref(new metadata(std::move(properties), connection.descriptor));
    return info;
}

} // namespace zlink::core
