// SPDX-License-Identifier: Apache-2.0
#include "core/connection/reader.hpp"

#include "core/connection/read_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <sys/uio.h>

namespace zlink::core {
namespace {

// Limit for draining a connection whose write side has failed. It is larger than any receive buffer
// of the kernel: only a peer that ignores the reset reaches it.
constexpr std::size_t most_rest_bytes = 64 * 1024 * 1024;

/// Of a decoder, until it reports an error.
class decoded_reads {
public:
    decoded_reads(core::incoming& in, transport::stream& from) noexcept
        : incoming_(in), decoder_(in.decoder()), from_(from)
    {}
    int prepare(std::span<iovec> space) noexcept { return decoder_.prepare(space); }
    transport::io_result read(const iovec* space, int count) noexcept
    {
        return from_.read_some(space, count);
    }
    engine::inbound_error error() const noexcept { return error_; }

protected:
    core::incoming& incoming_;
    engine::decoder& decoder_;
    transport::stream& from_;
    engine::inbound_error error_ = engine::inbound_error::none;
};

/// Those of one call of reader::read(), as long as there is room in the queue.
class paced_reads : public decoded_reads {
public:
    paced_reads(core::incoming& in, transport::stream& from, const reader::pulse& pulse,
                const reader::call_limits& limits) noexcept
        : decoded_reads(in, from), pulse_(pulse), limits_(limits)
    {}
    bool may_read()
    {
        if (reads_ == limits_.reads || is_time_up())
            return false;
        is_full_ = !decoder_.has_room();
        if (!is_full_ && pulse_.heartbeat.paused())
            pulse_.heartbeat.resume(pulse_.owner());
        return !is_full_;
    }
    bool received(std::size_t bytes)
    {
        ++reads_;
        pulse_.heartbeat.progressed();
        error_ = decoder_.received(bytes);
        if (decoder_.went_on())
            pulse_.heartbeat.received(); // what a PING among them asked for has come
        incoming_.pass_on();
        return error_ == engine::inbound_error::none;
    }
    /// Has there been no room?
    bool is_full() const noexcept { return is_full_; }

private:
    // The time begins with the end of the first read.
    bool is_time_up() noexcept
    {
        if (reads_ == 0)
            return false;
        const auto now = std::chrono::steady_clock::now();
        if (reads_ == 1)
            end_ = now + limits_.time;
        return reads_ > 1 && now >= end_;
    }

    const reader::pulse& pulse_;
    const reader::call_limits& limits_;
    std::chrono::steady_clock::time_point end_;
    int reads_ = 0;
    bool is_full_ = false;
};

/// Those of reader::read_all(), whether or not there is room.
class last_reads : public decoded_reads {
public:
    using decoded_reads::decoded_reads;
    bool may_read() const noexcept { return allowed_bytes_ != 0; }
    bool received(std::size_t bytes)
    {
        allowed_bytes_ -= std::min(allowed_bytes_, bytes);
        error_ = decoder_.received(bytes);
        incoming_.pass_on();
        return error_ == engine::inbound_error::none;
    }

private:
    std::size_t allowed_bytes_ = most_rest_bytes;
};

/// Those of reader::listen(), whose bytes are dropped.
class unheard_reads {
public:
    unheard_reads(transport::stream& from, heartbeat_timer& heartbeat) noexcept
        : from_(from), heartbeat_(heartbeat)
    {}
    bool may_read() const noexcept { return reads_ < reader::call_limits{}.reads; }
    int prepare(std::span<iovec> space) noexcept
    {
        space[0] = {bytes_, sizeof bytes_};
        return 1;
    }
    transport::io_result read(const iovec* space, int count) noexcept
    {
        return from_.read_some(space, count);
    }
    bool received(std::size_t)
    {
        ++reads_;
        heartbeat_.received();
        return true;
    }

private:
    transport::stream& from_;
    heartbeat_timer& heartbeat_;
    int reads_ = 0;
    std::byte bytes_[16 * 1024];
};

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
    paced_reads reads(incoming_, from, pulse, limits_);
    switch (pump(reads)) {
    case pump_end::dry:
        pulse.heartbeat.caught_up();
        return status::dry;
    case pump_end::limited:
        if (!reads.is_full())
            return status::limit_reached;
        pulse.heartbeat.pause(pulse.owner());
        if (!must_read_itself(pulse.heartbeat))
            lease_->offer(incoming_.decoder(), from);
        return status::full;
    case pump_end::refused:
        return status_of(reads.error());
    case pump_end::no_memory:
    case pump_end::lost:
        break;
    }
    return status::lost;
}

reader::status reader::read_all(transport::stream& from)
{
    if (const status result = take_back(); result != status::dry)
        return result;
    last_reads reads(incoming_, from);
    return pump(reads, short_read::goes_on) == pump_end::refused ? status_of(reads.error())
                                                                 : status::dry;
}

reader::status reader::listen(transport::stream& from, const pulse& pulse)
{
    if (pulse.heartbeat.paused())
        pulse.heartbeat.resume(pulse.owner());
    unheard_reads reads(from, pulse.heartbeat);
    switch (pump(reads, short_read::goes_on)) {
    case pump_end::dry:
        return status::dry;
    case pump_end::limited:
        return status::limit_reached;
    default:
        return status::lost;
    }
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
