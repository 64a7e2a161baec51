// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/handshake_error.hpp"

namespace zlink::engine {

std::uint32_t protocol_error_code(handshake_error error) noexcept
{
    switch (error) {
    case handshake_error::malformed_command:
    case handshake_error::unexpected_command:
        return 0x10000001;
    case handshake_error::malformed_error_command:
        return 0x10000015;
    case handshake_error::mechanism_mismatch:
        return 0x11000002;
    case handshake_error::none:
    case handshake_error::unsupported_version:
    case handshake_error::invalid_metadata:
    case handshake_error::incompatible_socket_type:
    case handshake_error::command_too_large:
    case handshake_error::refused_by_peer:
        return 0;
    }
    return 0;
}

std::uint32_t status_code(std::string_view reason) noexcept
{
    return reason == "300" ? 300 : reason == "400" ? 400 : reason == "500" ? 500 : 0;
}

} // namespace zlink::engine
