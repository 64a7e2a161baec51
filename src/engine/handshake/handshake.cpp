// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/handshake.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/memory/secret.hpp"
#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/handshake/mechanisms/null.hpp"

namespace zlink::engine {

handshake::handshake(local_peer local)
    : handshake(std::move(local), std::make_unique<null_mechanism>())
{}

handshake::handshake(local_peer local, std::unique_ptr<mechanism> security)
    : state_{std::move(local), {}, {}},
      mechanism_(std::move(security)),
      greeting_(mechanism_->name(), mechanism_->as_server(), state_.local.routing_id.size(),
                state_.local.socket_type),
      reader_(max_handshake_command_bytes, zmtp3_codec())
{}

void handshake::frame_by(framing how)
{
    framing_ = std::move(how);
    if (framing_.codec)
        reader_ = command_reader(max_handshake_command_bytes, framing_.codec);
}

void handshake::start()
{
    if (greets())
        return greeting_.start(output_);
    // Peers of 3.0 are told of subscriptions by messages. Those that greet nobody understand these
    // everywhere, but 4.3.5 does not understand the command of 3.1 inside the frames of CURVE.
    state_.remote.major = 3;
    state_.remote.minor = 0;
    if (has_mechanism())
        return send_commands();
    if (state_.local.must_authenticate)
        return fail(handshake_error::unsupported_version);
    append_frame(output_, 0, as_bytes(state_.local.routing_id), codec());
}

std::size_t handshake::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    while (taken < bytes.size() && !done() && !failed() && !is_waiting()) {
        const auto rest = bytes.subspan(taken);
        taken += greets() && !greeting_.done() ? feed_greeting(rest)
                 : identities_                 ? feed_identity(rest)
                                               : feed_command(rest);
    }
    return taken;
}

void handshake::hear_last_words(std::span<const std::byte> bytes)
{
    while (!bytes.empty() && !done() && !failed())
        bytes = bytes.subspan(feed_command(bytes));
}

void handshake::connection_ended() noexcept
{
    if (mechanism_)
        mechanism_->connection_ended();
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
    if (failed() || (greets() && !greeting_.done()))
        return false;
    if (!has_mechanism())
        return knows_routing_id_;
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
        try {
            send_commands();
        } catch (const std::bad_alloc&) { // or nobody would hear that it goes on
            fail(handshake_error::denied_for_now);
        }
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
        codec().encode_farewell(output_,
                                reader_.no_frame() ? farewell::no_frame : farewell::too_large);
        fail(reader_.no_frame() ? handshake_error::no_frame : handshake_error::command_too_large);
    } else if (reader_.control_complete()) {
        if (answer_control())
            reader_.next_after_control();
    } else if (reader_.complete()) {
        process_frame();
    }
    return taken;
}

// False if that was the end.
bool handshake::answer_control()
{
    const traffic_command control = codec().decode_control(reader_.control_body());
    if (control.kind == traffic_command_kind::ping)
        codec().encode_control(output_, {traffic_command_kind::pong, control.argument});
    if (control.kind != traffic_command_kind::close)
        return true;
    codec().encode_farewell(output_, farewell::closed);
    fail(handshake_error::closed_by_peer);
    return false;
}

void handshake::process_routing_id()
{
    if (reader_.body().size() > max_routing_id_bytes)
        return fail(handshake_error::invalid_metadata);
    state_.remote.routing_id = as_text(reader_.body());
    knows_routing_id_ = true;
    reader_.next();
}

void handshake::process_frame()
{
    if (!has_mechanism())
        return process_routing_id();
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
        append_frame(output_, zmtp3::flag_command, body, codec());
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
