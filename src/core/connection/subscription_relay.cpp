// SPDX-License-Identifier: Apache-2.0
#include "core/connection/subscription_relay.hpp"

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/commands/traffic_commands.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace zlink::core {
namespace {

namespace zmtp3 = engine::zmtp3;

// What peers older than ZMTP 3.1 are told instead of the command: byte 1 (subscribe) or 0 (cancel),
// and the topic.
void write_as_message(std::span<const std::byte> command_body, std::vector<std::byte>& message)
{
    const auto command = engine::parse_traffic_command(command_body);
    const bool subscribes = command.kind == engine::traffic_command_kind::subscribe;
    message.assign(1, static_cast<std::byte>(subscribes));
    engine::append_bytes(message, command.argument);
}

} // namespace

void subscription_relay::begin(std::vector<std::byte>& opening, subscription_source& source,
                               announced what, const engine::remote_peer& remote, pipe_end& pipe,
                               const std::function<void()>& announce)
{
    stale_before_ = 0;
    const bool groups = what == announced::groups; // told by commands in every version
    as_messages_ = (remote.major < 3 || remote.minor == 0) && !groups;
    knows_no_groups_ = remote.major < 3 && groups;
    std::vector<std::byte> commands;
    // A verbose publisher sees every single subscription, but none again after a reconnection.
    source.snapshot(commands, !has_announced_, pipe, [&] {
        has_announced_ = true;
        stale_before_ = pipe.channels()->a_to_b.queue.published_position();
        pipe.origin.takes_subscriptions = true;
        announce();
    });
    if (knows_no_groups_)
        return;
    if (!as_messages_)
        return engine::append_bytes(opening, commands);
    zmtp3::for_each_frame(commands, [&](std::uint8_t, std::span<const std::byte> body) {
        write_as_message(body, scratch_);
        engine::append_message_frame(opening, scratch_);
    });
}

void subscription_relay::filter(const engine::queued_frame& frame, engine::frame_encoder& out)
{
    if ((frame.flags & zmtp3::flag_command) == 0)
        return out.put_frame(frame.flags, frame.body, frame.owner);
    if (frame.position < stale_before_ || knows_no_groups_)
        return; // stale: said again when the connection was made
    if (!as_messages_)
        return out.put_frame(frame.flags, frame.body, nullptr);
    write_as_message(frame.body, scratch_);
    out.put_frame(0, scratch_, nullptr);
}

} // namespace zlink::core
