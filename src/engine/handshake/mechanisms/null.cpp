// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/mechanisms/null.hpp"

#include "engine/commands/command.hpp"
#include "engine/handshake/command_frames.hpp"

namespace zlink::engine {

bool null_mechanism::next_command(negotiation& state, std::vector<std::byte>& body)
{
    if (!admission_.was_asked())
        admission_.ask(state, name());
    if (admission_.next_error_command(body))
        return true;
    if (ready_sent_ || !admission_.is_granted())
        return false;
    append_command_body(body, "READY");
    append_local_metadata(body, state.local);
    ready_sent_ = true;
    return true;
}

handshake_error null_mechanism::process_command(negotiation& state, std::span<const std::byte> body)
{
    const auto command = parse_command(body);
    if (!command) {
        return handshake_error::unexpected_command;
    }
    if (command->name == "ERROR") {
        return read_error_command(command->data, state.peer_reason);
    }
    if (command->name != "READY" || ready_received_) {
        return handshake_error::unexpected_command;
    }
    ready_received_ = true;
    admission_.tell(state.remote);
    return accept_remote_metadata(command->data, state.local, state.remote);
}

} // namespace zlink::engine
