// SPDX-License-Identifier: Apache-2.0
#include "core/connection/keepalive.hpp"

#include <chrono>
#include <cstdint>
#include <new>

namespace zlink::core {

keepalive::keepalive(boost::asio::io_context& io, const engine::heartbeat_settings& settings,
                     kept_connection& connection)
    : settings_(settings), connection_(connection), timer_(io, [this](action what) {
          try {
              due(what);
          } catch (const std::bad_alloc&) {
              connection_.end_connection();
          }
      })
{}

void keepalive::append_first_ping(std::vector<std::byte>& frames, bool carries_commands) const
{
    if (sends_pings(carries_commands))
        engine::append_traffic_command(frames, ping());
}

void keepalive::begin(bool carries_commands)
{
    timer_.begin();
    if (sends_pings(carries_commands))
        timer_.start(settings_, connection_.timer_owner());
}

void keepalive::command_received(std::span<const std::byte> body)
{
    timer_.received();
    const auto command = engine::parse_traffic_command(body);
    if (command.kind != engine::traffic_command_kind::ping)
        return;
    timer_.ping_received(std::chrono::milliseconds(command.ttl_ms), connection_.timer_owner());
    send_pong(command.argument);
}

void keepalive::input_means_nothing()
{
    if (!listens_to_the_end())
        timer_.pause(connection_.timer_owner());
}

void keepalive::due(action what)
{
    switch (what) {
    case action::ping:
        return send_ping();
    case action::pong:
        if (!connection_.control_waits()) // else the peer will hear of us as soon as it reads
            send_pong({});
        return;
    case action::unanswered:
        return shows_progress() ? timer_.progressed() : connection_.end_connection();
    case action::dead:
        return connection_.end_connection();
    case action::none:
        return;
    }
}

// A peer with much to read may come to the PING late, but takes what is ahead of it.
bool keepalive::shows_progress()
{
    return progress_ && progress_->look(connection_.progress());
}

engine::traffic_command keepalive::ping() const noexcept
{
    return {engine::traffic_command_kind::ping, {}, static_cast<std::uint32_t>(settings_.ttl_ms)};
}

void keepalive::send_ping()
{
    const bool is_first = !timer_.awaits_answer();
    timer_.ping_sent();
    const bool sends = !connection_.control_waits(); // else a PING for each interval would pile up
    if (sends)
        connection_.send_command(ping());
    if (!is_first)
        return;
    if (!progress_)
        progress_ = std::make_unique<engine::sending_progress>();
    progress_->ping_sent(connection_.progress(), sends ? connection_.bytes_on_wire(ping()) : 0);
}

void keepalive::send_pong(std::span<const std::byte> context)
{
    connection_.send_command({engine::traffic_command_kind::pong, context, 0});
}

} // namespace zlink::core
