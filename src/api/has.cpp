// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <zmq.h>

namespace zlink::api {
namespace {

struct capability {
    std::string_view name;
    bool built;
};

// Transports every build has (tcp, inproc) are no capabilities; programs expect 0 for their names.
constexpr std::array<capability, 14> capabilities{{
    {"ipc", true},
    {"pgm", false},
    {"tipc", false},
    {"norm", false},
    {"curve", ZLINK_HAS_CURVE},
    {"gssapi", false},
    {"vmci", false},
    {"draft", true},
    {"tls", ZLINK_HAS_TLS},
    {"TLS", ZLINK_HAS_TLS},
    {"ws", true},
    {"WS", true}, // as 4.3.5 writes it
    {"wss", ZLINK_HAS_TLS},
    {"WSS", ZLINK_HAS_TLS},
}};

} // namespace
} // namespace zlink::api

int zmq_has(const char* capability)
{
    using zlink::api::capabilities;
    if (capability == nullptr) {
        return 0;
    }
    const std::string_view name(capability);
    return std::any_of(capabilities.begin(), capabilities.end(),
                       [name](const auto& row) { return row.built && row.name == name; });
}
