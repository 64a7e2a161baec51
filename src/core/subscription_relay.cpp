// SPDX-License-Identifier: Apache-2.0
#include "core/subscription_relay.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/socket_types.hpp"
#include "engine/traffic_commands.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace zlink::core {
namespace {

namespace types = engine::socket_types;
namespace zmtp3 = engine::zmtp3;

} // namespace

bool sends_subscriptions(int socket_type) noexcept
{
    return socket_type == types::sub || socket_type == types::xsub || socket_type == types::dish;
}

engine::encoding subscription_relay::begin(engine::write_batch& opening,
                                           subscription_source& source, int socket_type,
                                           const engine::remote_peer& remote, pipe_end& pipe,
                                           const std::function<void()>& announce)
{
    stale_before_ = 0;
    const bool groups = socket_type == types::dish; // told by commands in every version
    as_messages_ = (remote.major < 3 || remote.minor == 0) && !groups;
    knows_no_groups_ = remote.major < 3 && groups;
    frames_ = engine::framing_for(remote);
    std::vector<std::byte> commands;
    // A verbose publisher sees every single subscription, but none again after a reconnection.
    source.snapshot(commands, !std::exchange(was_linked_, true), pipe, [&] {
        stale_before_ = pipe.channels()->a_to_b.queue.published_position();
        pipe.linked = true;
        announce();
    });
    zmtp3::for_each_frame(commands, [&](std::uint8_t flags, std::span<const std::byte> body) {
        translate(opening, {flags, body, nullptr, stale_before_}, this);
    });
    return {.translate = &subscription_relay::translate, .context = this, .batches = false};
}

void subscription_relay::translate(engine::write_batch& out, const engine::queued_frame& frame,
                                   const void* self)
{
    const auto& how = *static_cast<const subscription_relay*>(self);
    if ((frame.flags & zmtp3::flag_command) == 0)
        return engine::append_frame(out, how.frames_, frame);
    if (frame.position < how.stale_before_ || how.knows_no_groups_)
        return; // stale: said again when the connection was made
    if (!how.as_messages_)
        return engine::append_command(out, frame);
    const auto command = engine::parse_traffic_command(frame.body);
    engine::append_subscription(out, how.frames_,
                                command.kind == engine::traffic_command_kind::subscribe,
                                command.argument);
}

} // namespace zlink::core
