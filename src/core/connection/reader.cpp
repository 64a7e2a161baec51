// SPDX-License-Identifier: Apache-2.0
#include "core/connection/reader.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace zlink::core {
namespace {

// Limit for draining a connection whose write side has failed. It is larger than any receive buffer
// of the kernel: only a peer that ignores the reset reaches it.
constexpr std::size_t most_rest_bytes = 64 * 1024 * 1024;

} // namespace

// Only a peer that breaks the protocol is not to be connected to again. One that sends more than
// ZMQ_MAXMSGSIZE allows may do better with its next message.
reader::status reader::status_of(engine::inbound_error error) noexcept
{
    using engine::inbound_error;
    switch (error) {
    case inbound_error::none:
        return status::dry;
    case inbound_error::out_of_memory:
        return status::lost;
    case inbound_error::closed:
        farewell_ = engine::farewell::closed;
        return status::lost;
    case inbound_error::too_large:
        farewell_ = engine::farewell::too_large;
        return status::lost;
    case inbound_error::bad_envelope:
        farewell_ = engine::farewell::unacceptable;
        return status::violated;
    case inbound_error::no_frame:
        farewell_ = engine::farewell::no_frame;
        return status::violated;
    case inbound_error::not_encrypted:
        fault_ = engine::handshake_error::unexpected_command;
        break;
    case inbound_error::too_short:
        fault_ = engine::handshake_error::malformed_message;
        break;
    case inbound_error::out_of_sequence:
        fault_ = engine::handshake_error::invalid_sequence;
        break;
    case inbound_error::not_authentic:
        fault_ = engine::handshake_error::not_authentic;
        break;
    }
    farewell_ = engine::farewell::no_frame;
    return status::damaged;
}

// What the socket's thread has met while it was reading is for this one: commands to be answered,
// and messages that it had no memory for.
reader::status reader::take_back()
{
    lease_->take_back();
    const auto found = lease_->take_findings();
    for (const auto& body : found.commands)
        commands_.on_command(body);
    if (found.error != engine::inbound_error::out_of_memory)
        return status_of(found.error);
    const auto error = incoming_.decoder().go_on();
    incoming_.pass_on();
    return status_of(error);
}

reader::status reader::read(transport::stream& from, const pulse& pulse)
{
    if (const status result = take_back(); result != status::dry)
        return result;
    engine::decoder& decoder = incoming_.decoder();
    heartbeat_timer& heartbeat = pulse.heartbeat;
    std::chrono::steady_clock::time_point end;
    for (int reads = 0; reads < limits_.reads; ++reads) {
        if (!decoder.has_room()) {
            heartbeat.pause(pulse.owner());
            if (!must_read_itself(heartbeat))
                lease_->offer(decoder, from);
            return status::full;
        }
        if (heartbeat.paused())
            heartbeat.resume(pulse.owner());
        iovec space[engine::decoder::most_entries];
        const int count = decoder.prepare(space);
        if (count == 0)
            return status::lost; // no memory
        const std::size_t offered = transport::total_bytes(space, count);
        const auto result = from.read_some(space, count);
        if (result.would_block()) {
            heartbeat.caught_up();
            return status::dry;
        }
        if (result.failed() || result.bytes == 0)
            return status::lost;
        heartbeat.progressed();
        const auto error = decoder.received(result.bytes);
        if (decoder.went_on())
            heartbeat.received(); // what a PING among them asked for has come
        incoming_.pass_on();
        if (error != engine::inbound_error::none)
            return status_of(error);
        if (result.bytes < offered && !result.more) {
            heartbeat.caught_up();
            return status::dry;
        }
        const auto now = std::chrono::steady_clock::now();
        if (reads == 0)
            end = now + limits_.time;
        else if (now >= end)
            break;
    }
    return status::limit_reached;
}

reader::status reader::read_all(transport::stream& from)
{
    if (const status result = take_back(); result != status::dry)
        return result;
    engine::decoder& decoder = incoming_.decoder();
    for (std::size_t allowed = most_rest_bytes; allowed > 0;) {
        iovec space[engine::decoder::most_entries];
        const int count = decoder.prepare(space);
        if (count == 0)
            break;
        const auto result = from.read_some(space, count);
        if (result.failed() || result.bytes == 0)
            break;
        allowed -= std::min(allowed, result.bytes);
        const auto error = decoder.received(result.bytes);
        incoming_.pass_on();
        if (error != engine::inbound_error::none)
            return status_of(error);
    }
    return status::dry;
}

reader::status reader::listen(transport::stream& from, const pulse& pulse)
{
    if (pulse.heartbeat.paused())
        pulse.heartbeat.resume(pulse.owner());
    std::byte unheard[16 * 1024];
    const iovec space{unheard, sizeof unheard};
    for (int reads = 0; reads < call_limits{}.reads; ++reads) {
        const auto result = from.read_some(&space, 1);
        if (result.would_block())
            return status::dry;
        if (result.failed() || result.bytes == 0)
            return status::lost;
        pulse.heartbeat.received();
    }
    return status::limit_reached;
}

bool reader::grant_lease(transport::stream& from, const heartbeat_timer& heartbeat)
{
    return !must_read_itself(heartbeat) && lease_->grant(incoming_.decoder(), from);
}

void reader::stop_sharing()
{
    if (!lease_)
        return;
    lease_->take_back();
    lease_->take_findings();
}

} // namespace zlink::core
