// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/authenticator.hpp"

#include "engine/bytes.hpp"
#include "engine/commands/command.hpp"
#include "engine/handshake/socket_types.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zlink::engine {

void admission::ask(const negotiation& about, std::string_view mechanism,
                    std::span<const std::string_view> parts)
{
    if (!asked_) {
        stage_ = stage::answered;
        return;
    }
    stage_ = stage::asked;
    asking_ = true;
    const auto known = about.connection ? about.connection() : transport::stream_info();
    std::vector<std::byte> shown;
    for (const auto& [name, value] : known.properties)
        append_property(shown, name, value);
    const std::string_view shown_part = as_text(shown);
    if (parts.empty() && !shown.empty())
        parts = std::span(&shown_part, 1);
    asked_->ask({mechanism, known.peer_address, parts},
                [this, socket_type = about.local.socket_type](verdict decided) {
                    take(std::move(decided), socket_type);
                });
    asking_ = false;
}

void admission::take(verdict decided, int socket_type)
{
    stage_ = stage::answered;
    verdict_ = std::move(decided);
    // It would count before what the peer says of itself.
    const property* const type = find_property(verdict_.properties, socket_type_property);
    if (verdict_.refusal == handshake_error::none && type &&
        !compatible_socket_types(socket_type, socket_type_number(type->value)))
        verdict_.refusal = handshake_error::invalid_reply_metadata;
    if (!asking_ && answered_)
        answered_();
}

void admission::tell(remote_peer& remote)
{
    if (!asked_)
        return;
    // Exactly as much as there is: it is kept, and how much the peer has sent is its choice.
    std::vector<property> all;
    all.reserve(1 + verdict_.properties.size() + remote.properties.size());
    all.push_back({std::string(user_id_property), std::move(verdict_.user_id)});
    std::ranges::move(std::exchange(verdict_.properties, {}), std::back_inserter(all));
    std::ranges::move(remote.properties, std::back_inserter(all));
    remote.properties = std::move(all);
}

bool admission::next_error_command(std::vector<std::byte>& body)
{
    std::string_view reason;
    switch (verdict_.refusal) {
    case handshake_error::denied:
        reason = "400";
        break;
    case handshake_error::authentication_failed:
        reason = "500";
        break;
    default: // the peer is to try again, or nobody has refused
        return false;
    }
    if (std::exchange(error_sent_, true))
        return false;
    const std::string data = static_cast<char>(reason.size()) + std::string(reason);
    append_command_body(body, "ERROR", as_bytes(data));
    return true;
}

} // namespace zlink::engine
