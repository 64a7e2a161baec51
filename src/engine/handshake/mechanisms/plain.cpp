// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/mechanisms/plain.hpp"

#include "engine/bytes.hpp"
#include "engine/commands/command.hpp"
#include "engine/handshake/command_frames.hpp"

#include <optional>
#include <utility>

namespace zlink::engine {
namespace {

// What servers of libzmq 4.3 send for ERROR: a length and an E that have become one character.
constexpr std::string_view misspelt_error = "^RROR";

void append_short_text(std::vector<std::byte>& out, std::string_view text)
{
    out.push_back(static_cast<std::byte>(text.size()));
    append_bytes(out, as_bytes(text));
}

// Takes a text from the front, in front of which its length stands.
std::optional<std::string_view> take_short_text(std::span<const std::byte>& from) noexcept
{
    if (from.empty())
        return std::nullopt;
    const auto bytes = std::to_integer<std::size_t>(from[0]);
    if (bytes > from.size() - 1)
        return std::nullopt;
    const auto text = as_text(from.subspan(1, bytes));
    from = from.subspan(1 + bytes);
    return text;
}

} // namespace

// --- client ------------------------------------------------------------------------------------

bool plain_client::next_command(negotiation& state, std::vector<std::byte>& body)
{
    switch (step_) {
    case step::send_hello:
        // The password is not to be left behind where the buffer would move from.
        body.reserve(body.size() + 8 + username_.size() + password_.size());
        append_command_body(body, "HELLO");
        append_short_text(body, username_);
        append_short_text(body, password_.text());
        step_ = step::await_welcome;
        return true;
    case step::send_initiate:
        append_command_body(body, "INITIATE");
        append_local_metadata(body, state.local);
        step_ = step::await_ready;
        return true;
    default:
        return false;
    }
}

handshake_error plain_client::process_command(negotiation& state, std::span<const std::byte> body)
{
    if (as_text(body).starts_with(misspelt_error))
        return read_error_command(body.subspan(misspelt_error.size()), state.peer_reason);
    const auto command = parse_command(body);
    if (!command)
        return handshake_error::malformed_command;
    if (command->name == "ERROR")
        return read_error_command(command->data, state.peer_reason);
    if (command->name == "WELCOME" && step_ == step::await_welcome) {
        if (!command->data.empty())
            return handshake_error::malformed_welcome;
        step_ = step::send_initiate;
        return handshake_error::none;
    }
    if (command->name == "READY" && step_ == step::await_ready) {
        step_ = step::ready;
        const auto error = accept_remote_metadata(command->data, state.local, state.remote);
        return error == handshake_error::invalid_metadata ? handshake_error::invalid_ready_metadata
                                                          : error;
    }
    return handshake_error::unexpected_command;
}

mechanism_status plain_client::status() const noexcept
{
    return step_ == step::ready ? mechanism_status::ready : mechanism_status::handshaking;
}

// --- server ------------------------------------------------------------------------------------

bool plain_server::next_command(negotiation& state, std::vector<std::byte>& body)
{
    if (admission_.next_error_command(body))
        return true;
    switch (step_) {
    case step::send_welcome:
        if (!admission_.is_granted())
            return false;
        append_command_body(body, "WELCOME");
        step_ = step::await_initiate;
        return true;
    case step::send_ready:
        append_command_body(body, "READY");
        append_local_metadata(body, state.local);
        step_ = step::ready;
        return true;
    default:
        return false;
    }
}

handshake_error plain_server::process_command(negotiation& state, std::span<const std::byte> body)
{
    const auto command = parse_command(body);
    if (!command)
        return handshake_error::malformed_command;
    if (command->name == "HELLO" && step_ == step::await_hello)
        return process_hello(state, command->data);
    if (command->name == "INITIATE" && step_ == step::await_initiate) {
        step_ = step::send_ready;
        admission_.tell(state.remote);
        return accept_remote_metadata(command->data, state.local, state.remote);
    }
    if (command->name == "ERROR")
        return read_error_command(command->data, state.peer_reason);
    return handshake_error::unexpected_command;
}

handshake_error plain_server::process_hello(const negotiation& state,
                                            std::span<const std::byte> data)
{
    const auto username = take_short_text(data);
    const auto password = username ? take_short_text(data) : std::nullopt;
    if (!password || !data.empty())
        return handshake_error::malformed_hello;
    step_ = step::send_welcome;
    const std::string_view shown[] = {*username, *password};
    admission_.ask(state, name(), shown);
    return handshake_error::none;
}

} // namespace zlink::engine
