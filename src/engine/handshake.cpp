// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/mechanisms/null.hpp"

namespace zlink::engine {
namespace {

std::size_t command_limit_bytes(std::int64_t max_message_bytes) noexcept
{
    if (max_message_bytes < 0) {
        return max_handshake_command_bytes;
    }
    return static_cast<std::size_t>(
        std::min<std::int64_t>(max_message_bytes, max_handshake_command_bytes));
}

} // namespace

handshake::handshake(local_peer local)
    : handshake(std::move(local), std::make_unique<null_mechanism>())
{}

handshake::handshake(local_peer local, std::unique_ptr<mechanism> security)
    : state_{std::move(local), {}, {}},
      mechanism_(std::move(security)),
      greeting_(mechanism_->name(), mechanism_->as_server(), state_.local.routing_id.size()),
      reader_(command_limit_bytes(state_.local.max_message_bytes))
{}

void handshake::start()
{
    greeting_.start(output_);
}

std::size_t handshake::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    while (taken < bytes.size() && !done() && !failed()) {
        const auto rest = bytes.subspan(taken);
        taken += greeting_.done() ? feed_command(rest) : feed_greeting(rest);
    }
    return taken;
}

void handshake::consume_output(std::size_t bytes) noexcept
{
    const auto sent = std::min(bytes, output_.size());
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(sent));
}

bool handshake::done() const noexcept
{
    return !failed() && greeting_.done() && mechanism_->status() == mechanism_status::ready;
}

std::size_t handshake::feed_greeting(std::span<const std::byte> bytes)
{
    const auto taken = greeting_.feed(bytes, output_);
    if (greeting_.error() != handshake_error::none) {
        fail(greeting_.error());
    } else if (greeting_.done()) {
        state_.remote.major = 3;
        state_.remote.minor = greeting_.minor();
        send_commands();
    }
    return taken;
}

std::size_t handshake::feed_command(std::span<const std::byte> bytes)
{
    const auto taken = reader_.feed(bytes);
    if (reader_.too_large()) {
        fail(handshake_error::command_too_large);
    } else if (reader_.complete()) {
        process_command();
    }
    return taken;
}

void handshake::process_command()
{
    const auto error = mechanism_->process_command(state_, reader_.body());
    if (error != handshake_error::none) {
        fail(error);
        return;
    }
    reader_.next();
    send_commands();
}

void handshake::send_commands()
{
    std::vector<std::byte> body;
    while (mechanism_->next_command(state_, body)) {
        append_command_frame(output_, body);
        body.clear();
    }
}

void handshake::fail(handshake_error error)
{
    error_ = error;
    reader_.next();
}

} // namespace zlink::engine
