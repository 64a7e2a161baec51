// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/handshake.hpp"

#include <algorithm>
#include <utility>

#include "base/memory/secret.hpp"
#include "engine/bytes.hpp"
#include "engine/handshake/mechanisms/null.hpp"

namespace zlink::engine {

handshake::handshake(local_peer local)
    : handshake(std::move(local), std::make_unique<null_mechanism>())
{}

handshake::handshake(local_peer local, std::unique_ptr<mechanism> security,
                     std::shared_ptr<frame_codec> codec)
    : state_{std::move(local), {}, {}},
      mechanism_(std::move(security)),
      codec_(std::move(codec)),
      greeting_(mechanism_->name(), mechanism_->as_server(), state_.local.routing_id.size(),
                state_.local.socket_type),
      reader_(max_handshake_command_bytes, codec_ ? codec_ : zmtp3_codec())
{}

void handshake::start()
{
    greeting_.start(output_);
}

std::size_t handshake::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    while (taken < bytes.size() && !done() && !failed() && !is_waiting()) {
        const auto rest = bytes.subspan(taken);
        taken += !greeting_.done() ? feed_greeting(rest)
                 : identities_     ? feed_identity(rest)
                                   : feed_command(rest);
    }
    return taken;
}

void handshake::consume_output(std::size_t bytes) noexcept
{
    const auto sent = std::min(bytes, output_.size());
    if (sent == output_.size())
        base::wipe(output_.data(), sent);
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(sent));
}

bool handshake::done() const noexcept
{
    if (failed() || !greeting_.done())
        return false;
    return identities_ ? identities_->complete() : mechanism_->status() == mechanism_status::ready;
}

bool handshake::is_waiting() const noexcept
{
    return mechanism_->status() == mechanism_status::waiting;
}

transport::exchange::state handshake::current_state() const noexcept
{
    return failed()       ? state::failed
           : done()       ? state::done
           : is_waiting() ? state::waiting
                          : state::running;
}

void handshake::on_resumed(std::function<void()> resumed)
{
    mechanism_->on_resumed([this, resumed = std::move(resumed)] {
        send_commands();
        resumed();
    });
}

std::size_t handshake::feed_greeting(std::span<const std::byte> bytes)
{
    const auto taken = greeting_.feed(bytes, output_);
    if (greeting_.error() != handshake_error::none) {
        fail(greeting_.error());
    } else if (greeting_.done() && greeting_.version() != greeted_version::zmtp3) {
        begin_legacy();
    } else if (greeting_.done()) {
        state_.remote.major = 3;
        state_.remote.minor = greeting_.minor();
        send_commands();
    }
    return taken;
}

void handshake::begin_legacy()
{
    if (mechanism_->name() != "NULL" || state_.local.must_authenticate)
        return fail(handshake_error::unsupported_version);
    const auto version = greeting_.version();
    const bool zmtp2 = version == greeted_version::revision_1;
    state_.remote.major = zmtp2 ? 2 : 1;
    state_.remote.unversioned = version == greeted_version::unversioned;
    identities_.emplace(zmtp2 ? zmtp2_codec() : zmtp1_codec(), max_routing_id_bytes);
    const auto own_id = as_bytes(state_.local.routing_id);
    if (state_.remote.unversioned) {
        append_bytes(output_, own_id); // the signature was the header of this frame
        feed_identity(greeting_.first_frame_bytes());
        return;
    }
    state_.remote.socket_type = greeting_.peer_socket_type();
    identities_->append_own(output_, own_id);
}

std::size_t handshake::feed_identity(std::span<const std::byte> bytes)
{
    const auto taken = identities_->feed(bytes);
    if (identities_->refused())
        fail(handshake_error::invalid_metadata);
    else if (identities_->complete())
        state_.remote.routing_id = identities_->routing_id();
    return taken;
}

std::size_t handshake::feed_command(std::span<const std::byte> bytes)
{
    const auto taken = reader_.feed(bytes);
    if (reader_.too_large() || reader_.no_frame()) {
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
        append_command_frame(output_, body, codec_ ? *codec_ : *zmtp3_codec());
        base::wipe(body.data(), body.size()); // there may be a password in it
        body.clear();
    }
    if (const auto error = mechanism_->error(); error != handshake_error::none)
        fail(error);
}

void handshake::fail(handshake_error error)
{
    error_ = error;
    reader_.next();
    identities_.reset();
}

} // namespace zlink::engine
