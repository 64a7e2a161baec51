// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/outgoing.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace zlink::engine {

// --- connections

void outgoing::begin(std::span<const std::byte> first, wire how, std::span<const std::byte> opening)
{
    // What needs memory comes first: there is no connection yet when there is none.
    std::vector<std::byte> now(first.begin(), first.end());
    std::vector<std::byte> waiting(opening.begin(), opening.end());
    const bool encodes_queue_format = how.encodes_queue_format();
    encoded_ = how.is_default()
                   ? nullptr
                   : std::make_unique<encoded_source>(std::move(how), own_, queue_, newest_);
    encodes_queue_format_ = encodes_queue_format;
    error_ = 0;
    offered_ = nullptr;
    own_.begin(std::move(now), std::move(waiting));
}

void outgoing::end()
{
    offered_ = nullptr;
    own_.clear();
    newest_.put_back();
    const bool plain_bytes = encoded_ && encoded_->how().is_plain_bytes;
    encoded_.reset(); // the parts of its wire may go with the connection
    queue_.end(plain_bytes);
}

void outgoing::discard()
{
    newest_.clear();
    if (encoded_)
        encoded_->discard();
    queue_.discard();
}

// --- offers

// What has to be finished before anything is begun.
frame_source* outgoing::begun() noexcept
{
    const std::array<frame_source*, 3> in_order{&own_, encoded_.get(), &newest_};
    for (frame_source* const each : in_order)
        if (each && !each->at_boundary())
            return each;
    return nullptr;
}

outgoing::offer outgoing::next(std::span<iovec, tuning::writing::max_pieces> entries,
                               bool may_begin) noexcept
{
    if (own_.wait() && is_at_boundary() && encodes_queue_format_ && queue_.at_boundary())
        own_.begin_waiting();
    if (frame_source* const rest = begun())
        return list(*rest, entries, false);
    return passes_queue() ? begin_queue(entries, may_begin) : begin_encoded(entries, may_begin);
}

outgoing::offer outgoing::list(frame_source& from, std::span<iovec> entries, bool begins) noexcept
{
    offer made{offer_kind::bytes, 0, 0, begins};
    made.count = from.next(entries, made.bytes);
    if (made.count == 0)
        return {};
    offered_ = &from;
    return made;
}

outgoing::offer outgoing::begin_queue(std::span<iovec> entries, bool may_begin) noexcept
{
    if (!may_begin)
        return {queue_.waits() || newest_.waits() ? offer_kind::pending : offer_kind::nothing};
    // Frames of this side's own wait for a boundary: that must not be far.
    const offer made = list(queue_, own_.wait() ? entries.first(1) : entries, true);
    if (made.kind == offer_kind::bytes || !newest_.take())
        return made;
    return list(newest_, entries, true);
}

outgoing::offer outgoing::begin_encoded(std::span<iovec> entries, bool may_begin) noexcept
{
    if (!may_begin && (!queue_.all_taken() || newest_.waits() || own_.wait()))
        return {offer_kind::pending};
    error_ = encoded_->encode();
    if (error_ != 0)
        return {offer_kind::failed};
    return batch_waits() ? list(*encoded_, entries, true) : offer{};
}

bool outgoing::all_taken() const noexcept
{
    return queue_.all_taken() && !control_waits() && is_at_boundary() && !newest_.waits();
}

bool outgoing::sleep() noexcept
{
    return from_.queue.sleep() && !(newest_.waits() && from_.queue.wake());
}

// --- commands

bool outgoing::add_command(const traffic_command& command)
{
    std::vector<std::byte>& frames = own_.waiting();
    if (frames.size() + traffic_command_frame_bytes(command) > most_control_bytes)
        return false;
    traffic_command sent = command;
    const std::size_t most =
        encoded_ ? encoded_->how().codec->traits().max_context_bytes : max_ping_context_bytes;
    if (sent.kind == traffic_command_kind::ping || sent.kind == traffic_command_kind::pong)
        sent.argument = sent.argument.first(std::min(sent.argument.size(), most));
    append_traffic_command(frames, sent);
    return true;
}

std::vector<std::byte> outgoing::farewell(engine::farewell why) const
{
    std::vector<std::byte> frame;
    if (encoded_ && !batch_waits() && own_.at_boundary())
        encoded_->how().codec->encode_farewell(frame, why);
    return frame;
}

std::size_t outgoing::bytes_on_wire(const traffic_command& command) const
{
    std::vector<std::byte> frame;
    append_traffic_command(frame, command);
    return encoded_ ? engine::bytes_on_wire(encoded_->how(), frame) : frame.size();
}

// Can the bytes of the queue be sent as they lie there?
bool outgoing::passes_queue() const noexcept
{
    return encodes_queue_format_ && (!encoded_ || encoded_->passes_filter(queue_.position()));
}

// --- past the queue

bool outgoing::can_pass_by() const noexcept
{
    return is_at_boundary() && !own_.wait() && passes_queue();
}

bool outgoing::list_all(std::span<iovec, tuning::writing::max_pieces> entries,
                        base::byte_queue::batch& all) noexcept
{
    return queue_.list_all(entries.first(entries.size() - 2), all);
}

bool outgoing::can_encode_past() const noexcept
{
    return encoded_ && all_taken() && encoded_->can_encode_past();
}

bool outgoing::encode_past(std::span<const std::byte> frames,
                           std::span<const std::byte> body) noexcept
{
    return encoded_->encode_past(frames, body);
}

void outgoing::keep_past(base::certain_memory& room) noexcept
{
    queue_.count_passed_by();
    if (encoded_)
        encoded_->keep_past(room);
}

} // namespace zlink::engine
