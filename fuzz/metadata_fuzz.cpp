// SPDX-License-Identifier: Apache-2.0
// Input: a property list.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/handshake/metadata.hpp"
#include "engine/handshake/peer.hpp"
#include "fuzz_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace zlink::engine;
    const auto list = std::as_bytes(std::span(data, size));
    std::vector<property> properties;
    const bool valid = decode_properties(list, properties);
    fuzz_check(valid || properties.empty());

    remote_peer remote;
    const auto error = accept_remote_metadata(list, {0, "", {}}, remote);
    fuzz_check(valid || error == handshake_error::invalid_metadata);
    fuzz_check(remote.properties == properties);
    fuzz_check(remote.routing_id.size() <= max_routing_id_bytes);

    // Encoding what was decoded gives the same bytes, except that empty names are never encoded.
    std::vector<std::byte> encoded;
    bool encodable = valid;
    for (const auto& property : properties) {
        const bool appended = append_property(encoded, property.name, property.value);
        fuzz_check(appended == !property.name.empty());
        encodable = encodable && appended;
    }
    fuzz_check(!encodable || std::equal(list.begin(), list.end(), encoded.begin(), encoded.end()));
    return 0;
}
