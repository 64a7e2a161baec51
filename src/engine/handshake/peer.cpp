// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/peer.hpp"

#include <algorithm>

#include "engine/handshake/socket_types.hpp"

namespace zlink::engine {
namespace {

constexpr std::string_view identity_property = "Identity";

} // namespace

void append_local_metadata(std::vector<std::byte>& out, const local_peer& local)
{
    append_property(out, socket_type_property, socket_type_name(local.socket_type));
    if (announces_routing_id(local.socket_type)) {
        append_property(out, identity_property, local.routing_id);
    }
    std::vector<const property*> sorted;
    sorted.reserve(local.properties.size());
    for (const auto& property : local.properties) {
        sorted.push_back(&property);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const property* a, const property* b) { return a->name < b->name; });
    for (const auto* property : sorted) {
        append_property(out, property->name, property->value);
    }
}

handshake_error accept_remote_metadata(std::span<const std::byte> list, const local_peer& local,
                                       remote_peer& remote)
{
    const auto known = static_cast<std::ptrdiff_t>(remote.properties.size());
    if (!decode_properties(list, remote.properties)) {
        return handshake_error::invalid_metadata;
    }
    // Who the peer is, only an authenticator says.
    const auto claimed =
        std::remove_if(remote.properties.begin() + known, remote.properties.end(),
                       [](const property& each) { return each.name == user_id_property; });
    remote.properties.erase(claimed, remote.properties.end());
    if (const auto* identity = find_property(remote.properties, identity_property)) {
        if (identity->value.size() > max_routing_id_bytes) {
            return handshake_error::invalid_metadata;
        }
        remote.routing_id = identity->value;
    }
    if (const auto* type = find_property(remote.properties, socket_type_property)) {
        remote.socket_type = socket_type_number(type->value);
        if (!compatible_socket_types(local.socket_type, remote.socket_type)) {
            return handshake_error::incompatible_socket_type;
        }
    }
    return handshake_error::none;
}

} // namespace zlink::engine
