// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/pipe_input.hpp"

#include "base/tuning.hpp"
#include "core/pace/flush_list.hpp"
#include "engine/traffic/conflate.hpp"

#include <utility>

namespace zlink::core {

namespace zmtp3 = engine::zmtp3;

bool pipe_input::peek(frame& part) noexcept
{
    if (conflates_) [[unlikely]]
        return peek_newest(part);
    if (peeked_) {
        if (newest_) [[unlikely]]
            part = part_;
        else
            give_part(part);
        return true;
    }
    if (!load())
        return channel_.newest.filled() && peek_newest(part);
    base::byte_queue& queue = channel_.queue;
    const std::byte* const at = queue.read_begin();
    zmtp3::frame_header header;
    zmtp3::decode_header(at, static_cast<std::size_t>(queue.read_end() - at), header);
    part_header_bytes_ = header.header_bytes;
    part_bytes_ = header.body_bytes;
    part_flags_ = part_flags(header.flags);
    part_more_ = (header.flags & zmtp3::flag_more) != 0;
    part_apart_ = part_bytes_ != 0 && at + part_header_bytes_ == queue.read_end();
    if (part_apart_) {
        queue.consume(part_header_bytes_);
        part_header_bytes_ = 0;
        queue.load();
    }
    if (!is_inproc_ && zmtp3::continues_behind_message(
                           queue.read_begin() + part_header_bytes_ + part_bytes_, queue.read_end(),
                           part_more_, tuning::batching::max_parts_scanned))
        flush_list::expect_more_of_this_thread();
    peeked_ = true;
    give_part(part);
    return true;
}

// True if there is something in the queue. If not, there may be in the conflation slot, or the
// writer tells of what comes.
bool pipe_input::load() noexcept
{
    base::byte_queue& queue = channel_.queue;
    if (back_off_ && queue.read_begin() == queue.read_end() &&
        back_off_->wants_break(channel_.credit.taken()))
        base::reader_back_off::take_breaks([&] { return queue.load(); });
    while (!queue.load())
        if (channel_.newest.filled() || sleep())
            return false;
    return true;
}

// Nothing is there: the writer tells of what comes. False if something has come meanwhile.
bool pipe_input::sleep() noexcept
{
    if (channel_.credit.report())
        tell_of_room();
    return channel_.queue.sleep() && !(channel_.newest.filled() && channel_.queue.wake());
}

// The part that was found in the queue. Field by field: a frame kept as a whole would be loaded in
// one piece just after it was stored in several.
void pipe_input::give_part(frame& part) const noexcept
{
    part.data = channel_.queue.read_begin() + part_header_bytes_;
    part.size = part_bytes_;
    part.owner = part_apart_ ? channel_.queue.head().owner : nullptr;
    part.flags = part_flags_;
}

void pipe_input::pop() noexcept
{
    if (!peeked_)
        return;
    peeked_ = false;
    if (std::exchange(part_apart_, false)) {
        if (newest_) [[unlikely]]
            return newest_.reset();
        channel_.queue.consume_body();
    } else {
        channel_.queue.consume(part_header_bytes_ + part_bytes_);
    }
    if (!part_more_ && channel_.credit.add_taken(1))
        tell_of_room();
}

bool pipe_input::skip_message(std::size_t& max_parts) noexcept
{
    if (newest_) { // a newer one, if there is, is not part of it
        pop();
        return true;
    }
    frame part;
    for (bool more = true; more && peek(part); --max_parts) {
        if (max_parts == 0)
            return false;
        more = part.more();
        pop();
    }
    return true;
}

void pipe_input::tell_of_room() noexcept
{
    if (inlet_)
        inlet_->made_room();
    else if (writer_)
        writer_->on_writable();
}

bool pipe_input::peek_newest(frame& part) noexcept
{
    while (!take_newest())
        if (sleep())
            return false;
    part = part_;
    return true;
}

// Makes the newest message there is the part that is peeked.
bool pipe_input::take_newest() noexcept
{
    base::buffer_ref newest = channel_.newest.take();
    // What the peer wrote before it knew of the conflation is older than what the slot has given.
    engine::newest_frame queued = engine::take_newest(channel_.queue);
    if (queued.messages && channel_.credit.add_taken(queued.messages))
        tell_of_room();
    if (!newest)
        newest = std::move(queued.copy);
    if (!newest)
        return peeked_;
    newest_ = std::move(newest);
    const engine::copied_frame copied = engine::view_frame(*newest_.get());
    part_.flags = part_flags(copied.flags);
    part_.data = copied.body.data();
    part_.size = copied.body.size();
    part_.owner = newest_.get();
    part_more_ = false;
    part_apart_ = true;
    return peeked_ = true;
}

} // namespace zlink::core
