// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/pipe.hpp"

#include "base/rules.hpp"
#include "base/tuning.hpp"

#include "core/pace/flush_list.hpp"
#include "core/pipe/notices.hpp"
#include "engine/traffic/conflate.hpp"

#include <cstring>

namespace zlink::core {

namespace zmtp3 = engine::zmtp3;

pipe_end::pipe_end(std::shared_ptr<channel_pair> channels, bool side_a,
                   std::shared_ptr<base::mailbox> box)
    : channels_(std::move(channels)),
      out_(side_a ? &channels_->a_to_b : &channels_->b_to_a),
      in_(side_a ? &channels_->b_to_a : &channels_->a_to_b),
      box_(std::move(box))
{}

pipe_end::~pipe_end()
{
    delete peer_.load(std::memory_order_acquire);
}

bool pipe_end::notify(std::uint32_t events) noexcept
{
    return box_ && box_->post(*this, events, shared_from_this());
}

void pipe_end::set_peer(std::unique_ptr<peer_info> info) noexcept
{
    delete peer_.exchange(info.release(), std::memory_order_acq_rel);
}

std::unique_ptr<peer_info> pipe_end::take_peer() noexcept
{
    std::unique_ptr<peer_info> taken(peer_.exchange(nullptr, std::memory_order_acq_rel));
    if (!taken)
        return nullptr;
    if (taken->wants_newest && !out_conflates_) {
        out_conflates_ = true;
        out_->credit.set_producer_limit(0);
    }
    disconnect_message_ = taken->disconnect_message;
    marks_notices_ = taken->marks_notices;
    return taken;
}

// --- writing -----------------------------------------------------------------------------------

// All that the inlined path leaves.
bool pipe_end::write_any(const frame& part) noexcept
{
    if (out_conflates_) [[unlikely]]
        return write_newest(part);
    base::byte_queue& queue = out_->queue;
    if (out_is_chunks_ && part.size == 0) [[unlikely]] {
        in_message_ = part.more();
        return in_message_ || !queue.has_uncommitted() || commit(); // a message of no bytes is none
    }
    const bool lends = waits_for_reader_ && part.lendable &&
                       part.size >= tuning::inproc::min_lent_bytes && !part.more() && !part.owner;
    if (part.size >= tuning::body::min_uncopied_bytes && !batches() && !in_message_ &&
        !queue.consumer_asleep()) {
        if (waits_for_reader_ && other_)
            let_reader_catch_up(part.size, lends);
        else if (outlet_)
            follow(outlet_->flush(flush_reason::large_message));
    }
    if (lends && out_->credit.waiting() <= tuning::inproc::max_waiting_to_lend)
        return lend(part);
    if (part.size >= tuning::body::min_uncopied_bytes && !part.owner && try_write_through(part))
        return true;
    if (base::rule_is_on(base::rule::packet_batches) && batches() &&
        batch_bytes_ + zmtp3::long_header_bytes + part.size >
            tuning::batching::loopback_packet_bytes)
        flush(); // rather than begin one more packet with the end of this message
    const std::size_t copied_below =
        !part.owner ? (base::rule_is_on(base::rule::own_block) ? tuning::body::min_uncopied_bytes
                                                               : SIZE_MAX)
        : origin.is_inproc && part.user_owned() ? tuning::body::min_shared_user_bytes
                                                : tuning::body::min_shared_bytes;
    const bool inlined = part.size < copied_below && !(part.owner && keeps_waiting(part));
    std::byte* const at = queue.reserve(zmtp3::long_header_bytes + (inlined ? part.size : 0));
    if (!at)
        return false;
    const std::size_t header = encode_header(at, part);
    if (inlined) {
        if (part.size) // memcpy must not see null
            std::memcpy(at + header, part.data, part.size);
        return end_part(header + part.size, part.more());
    }
    if (!append_shared(header, part))
        return false;
    batch_bytes_ += header + part.size;
    in_message_ = part.more();
    return in_message_ || commit();
}

bool pipe_end::put_chunk(const std::byte* data, std::size_t size) noexcept
{
    if (size == 0)
        return false; // no bytes are no message
    if (!out_is_plain_)
        return try_to_write_small(data, size, 0);
    std::byte* const at = out_->queue.reserve(size);
    if (!at)
        return false;
    std::memcpy(at, data, size);
    return end_part(size, false);
}

// A copy of the message, as it is to be written.
base::buffer_ref pipe_end::prepare(const frame& message) noexcept
{
    if (out_conflates_)
        return engine::copy_frame(message.flags, message.bytes());
    base::buffer_ref copy(base::allocate_buffer(message.size));
    if (!copy || !out_->queue.reserve(zmtp3::long_header_bytes) || !out_->queue.prepare_append())
        return {};
    if (message.size) // memcpy must not see null
        std::memcpy(copy->data, message.data, message.size);
    return copy;
}

void pipe_end::write_prepared(const frame& message, base::buffer_ref prepared) noexcept
{
    if (out_conflates_)
        return put_newest(std::move(prepared));
    base::byte_queue& queue = out_->queue;
    queue.advance(encode_header(queue.tail(), message));
    if (message.size) {
        const std::byte* const body = prepared->data;
        queue.append(prepared.release(), body, message.size);
    }
    commit();
}

void pipe_end::give_up_message() noexcept
{
    out_->queue.rollback();
    in_message_ = false;
}

// What lies in the queue should still lie in a cache when it is read.
void pipe_end::let_reader_catch_up(std::size_t bytes, bool lends) noexcept
{
    using step = base::write_retry::step;
    const base::message_credit& credit = out_->credit;
    if (credit.waiting() * bytes < tuning::inproc::max_backlog_bytes)
        return;
    std::uint64_t taken = credit.taken();
    backlog_.wait([&] {
        const std::uint64_t waiting = credit.waiting();
        if (lends ? waiting <= tuning::inproc::max_waiting_to_lend
                  : waiting * bytes < tuning::inproc::max_backlog_bytes)
            return step::done;
        return std::exchange(taken, credit.taken()) != taken ? step::progress : step::nothing;
    });
}

// The reader may copy the body while this waits.
bool pipe_end::lend(const frame& part) noexcept
{
    using step = base::write_retry::step;
    base::buffer* const block = base::allocate_buffer(part.size);
    if (!block)
        return false;
    const base::buffer_ref kept(block);
    base::byte_queue& queue = out_->queue;
    std::byte* const at = queue.reserve(zmtp3::long_header_bytes);
    if (!at || !queue.prepare_append())
        return false;
    queue.advance(encode_header(at, part));
    block->hint = const_cast<std::byte*>(part.data);
    block->lending.offer(part.data, block->data, part.size);
    block->add_reference();
    queue.append(block, block->data, part.size);
    in_message_ = false;
    commit();
    if (reader_borrows_)
        borrower_.wait([&] { return block->lending.answered() ? step::done : step::nothing; });
    reader_borrows_ = block->lending.settle(part.data, block->data, part.size, block->hint);
    return true;
}

// The free function of small user-owned memory tells that the message is on its way, or soon will
// be. Without a connection it might never be.
bool pipe_end::keeps_waiting(const frame& part) const noexcept
{
    return part.owner->user_owned && part.size != 0 &&
           out_->stalled.load(std::memory_order_relaxed);
}

// Returns the size of the header.
std::size_t pipe_end::encode_header(std::byte* at, const frame& part) const noexcept
{
    return out_is_plain_ ? 0 : zmtp3::encode_header(at, part.flags, part.size);
}

void pipe_end::on_readable() noexcept
{
    if (!flush_list::hold(*this))
        notify(readable);
}

void pipe_end::tell_readable() noexcept
{
    if (!outlet_ && other_)
        other_->on_readable();
    follow(outlet_ ? outlet_->committed() : plan{});
}

void pipe_end::tell_of_room() noexcept
{
    if (inlet_)
        inlet_->made_room();
    else if (other_)
        other_->on_writable();
}

void pipe_end::flush() noexcept
{
    follow(outlet_ ? outlet_->flush(flush_reason::full) : plan{});
}

void pipe_end::flush_or_check_age() noexcept
{
    if (batch_bytes_ >= tuning::batching::flush_bytes || !outlet_)
        return flush();
    outlet_->flush(flush_reason::maybe_due); // writes other batches as well; this one goes on
    plan_.flush_at_bytes =
        std::min(batch_bytes_ + tuning::batching::clock_check_bytes, tuning::batching::flush_bytes);
}

bool pipe_end::flush_for_room() noexcept
{
    flush();
    return out_->credit.has_room();
}

// Messages of several parts are not supported here: their last part is kept.
bool pipe_end::write_newest(const frame& part) noexcept
{
    if (part.more())
        return true;
    base::buffer_ref copy = engine::copy_frame(part.flags, part.bytes());
    if (!copy)
        return false;
    put_newest(std::move(copy));
    return true;
}

void pipe_end::put_newest(base::buffer_ref copy) noexcept
{
    out_->newest.put(std::move(copy));
    if (!out_->queue.wake())
        return;
    if (outlet_)
        outlet_->committed();
    else if (other_)
        other_->on_readable();
}

// Appends the header, which was written at the reserved place, and the body by reference.
bool pipe_end::append_shared(std::size_t header_bytes, const frame& part) noexcept
{
    if (!out_->queue.prepare_append())
        return false;
    base::buffer* owner = part.owner;
    const std::byte* data = part.data;
    if (owner) {
        owner->shared = true;
        owner->add_reference();
    } else {
        owner = base::allocate_buffer(part.size);
        if (!owner)
            return false;
        std::memcpy(owner->data, part.data, part.size);
        data = owner->data;
    }
    out_->queue.advance(header_bytes);
    out_->queue.append(owner, data, part.size);
    return true;
}

// True if the frame, or a part of it, has gone to the connection already.
bool pipe_end::try_write_through(const frame& part) noexcept
{
    if (!base::rule_is_on(base::rule::write_through) || part.more() || !outlet_ ||
        (batches() && part.size < tuning::batching::min_unbatched_bytes))
        return false;
    base::byte_queue& queue = out_->queue;
    // The parts before it, an envelope mostly, go along if they are there in one piece.
    std::byte header[zmtp3::long_header_bytes];
    std::byte* first = header;
    std::size_t first_bytes = 0;
    if (in_message_) {
        std::byte* const at = queue.reserve(zmtp3::long_header_bytes);
        const std::span<const std::byte> parts = queue.uncommitted();
        if (!at || parts.empty())
            return false;
        first = at - parts.size();
        first_bytes = parts.size();
    }
    if (!batches() && !queue.consumer_asleep())
        return false;
    first_bytes += encode_header(first + first_bytes, part);
    base::certain_memory for_rest(first_bytes + part.size);
    if (!for_rest || !queue.prepare_append())
        return false;
    const iovec pieces[2] = {{first, first_bytes}, {const_cast<std::byte*>(part.data), part.size}};
    const auto direct = outlet_->write_direct(pieces, for_rest);
    const std::size_t sent = direct.bytes;
    if (sent == 0)
        return false;
    follow(direct.next);
    in_message_ = false;
    queue.rollback(); // the bytes stay where they are until something is appended
    if (sent == first_bytes + part.size)
        return true;
    // The rest follows from a copy.
    const std::size_t remaining_first = sent < first_bytes ? first_bytes - sent : 0;
    const std::size_t body_sent = sent > first_bytes ? sent - first_bytes : 0;
    const std::size_t rest = part.size - body_sent;
    base::buffer* const copy = for_rest.allocate(remaining_first + rest);
    std::memcpy(copy->data, first + first_bytes - remaining_first, remaining_first);
    std::memcpy(copy->data + remaining_first, part.data + body_sent, rest);
    queue.append(copy, copy->data, remaining_first + rest, true);
    commit();
    batch_bytes_ = remaining_first + rest; // later, as it was not to be written at once
    return true;
}

// --- reading -----------------------------------------------------------------------------------

bool pipe_end::peek(frame& part) noexcept
{
    base::byte_queue& queue = in_->queue;
    if (in_conflates_) [[unlikely]]
        return peek_newest(part);
    if (peeked_) {
        if (newest_) [[unlikely]]
            part = part_;
        else
            give_part(part);
        return true;
    }
    if (reader_back_off_ && queue.read_begin() == queue.read_end() &&
        reader_back_off_->wants_break(in_->credit.taken()))
        base::reader_back_off::take_breaks([&] { return queue.load(); });
    while (!queue.load()) {
        if (in_->newest.filled())
            return peek_newest(part);
        tell_taken(in_->credit.report());
        if (queue.sleep() && !(in_->newest.filled() && queue.wake()))
            return false;
    }
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
    if (!origin.is_inproc && has_more_messages())
        flush_list::expect_more_of_this_thread();
    peeked_ = true;
    give_part(part);
    return true;
}

// Behind the message of the part that was found, as far as that can be seen at a glance.
bool pipe_end::has_more_messages() const noexcept
{
    const std::byte* at = in_->queue.read_begin() + part_header_bytes_ + part_bytes_;
    const std::byte* const end = in_->queue.read_end();
    bool more = part_more_;
    for (int parts = 0; more && parts < tuning::batching::max_parts_scanned; ++parts) {
        zmtp3::frame_header header;
        if (!zmtp3::decode_header(at, static_cast<std::size_t>(end - at), header) ||
            header.body_bytes >= static_cast<std::size_t>(end - at) - header.header_bytes)
            return false;
        at += header.header_bytes + header.body_bytes;
        more = (header.flags & zmtp3::flag_more) != 0;
    }
    return !more && at < end;
}

// The part that was found in the queue. Field by field: a frame kept as a whole would be loaded in
// one piece just after it was stored in several.
void pipe_end::give_part(frame& part) const noexcept
{
    part.data = in_->queue.read_begin() + part_header_bytes_;
    part.size = part_bytes_;
    part.owner = part_apart_ ? in_->queue.head().owner : nullptr;
    part.flags = part_flags_;
}

void pipe_end::pop() noexcept
{
    if (!peeked_)
        return;
    peeked_ = false;
    if (std::exchange(part_apart_, false)) {
        if (newest_) [[unlikely]]
            return newest_.reset();
        in_->queue.consume_body();
    } else {
        in_->queue.consume(part_header_bytes_ + part_bytes_);
    }
    if (!part_more_)
        tell_taken(in_->credit.add_taken(1));
}

bool pipe_end::peek_newest(frame& part) noexcept
{
    while (!take_newest()) {
        tell_taken(in_->credit.report());
        if (in_->queue.sleep() && !(in_->newest.filled() && in_->queue.wake()))
            return false;
    }
    part = part_;
    return true;
}

// Makes the newest message there is the part that is peeked.
bool pipe_end::take_newest() noexcept
{
    base::buffer_ref newest = in_->newest.take();
    // What the peer wrote before it knew of the conflation is older than what the slot has given.
    engine::newest_frame queued = engine::take_newest(in_->queue);
    if (queued.messages)
        tell_taken(in_->credit.add_taken(queued.messages));
    if (!newest)
        newest = std::move(queued.copy);
    if (!newest)
        return peeked_;
    newest_ = std::move(newest);
    const engine::copied_frame copied = engine::view_frame(*newest_.get());
    part_.flags = copied.flags & (zmtp3::flag_more | zmtp3::flag_command);
    part_.data = copied.body.data();
    part_.size = copied.body.size();
    part_.owner = newest_.get();
    part_more_ = false;
    part_apart_ = true;
    return peeked_ = true;
}

bool pipe_end::skip_message(std::size_t& most_parts) noexcept
{
    if (newest_) { // a newer one, if there is, is not part of it
        pop();
        return true;
    }
    frame part;
    for (bool more = true; more && peek(part); --most_parts) {
        if (most_parts == 0)
            return false;
        more = part.more();
        pop();
    }
    return true;
}

void pipe_end::write_disconnect_message() noexcept
{
    if (!disconnect_message_.empty())
        write(notice_frame(marks_notices_, disconnect_message_));
}

bool pipe_end::leave() noexcept
{
    give_up_message();
    if (!other_ || other_gone_)
        return false;
    write_disconnect_message();
    other_->on_ended(pipe_ending::left, 0);
    mark_other_closed();
    return true;
}

void pipe_end::hang_up(int linger_ms) noexcept
{
    give_up_message();
    if (other_ && !other_gone_) {
        if (is_refused()) {
            other_->on_ended(pipe_ending::refused, 0);
        } else {
            write_disconnect_message();
            other_->on_ended(pipe_ending::closed, linger_ms);
        }
    }
    other_.reset();
    outlet_ = nullptr;
    inlet_ = nullptr;
    mark_other_gone();
}

bool pipe_end::close(int linger_ms) noexcept
{
    if (closed_)
        return false;
    closed_ = true;
    hang_up(linger_ms);
    return true;
}

void pipe_end::on_ended(pipe_ending how, int) noexcept
{
    if (how == pipe_ending::output_ended || how == pipe_ending::left)
        return; // what was written can still be read, and the end follows
    if (how == pipe_ending::refused)
        taken_back_.store(true, std::memory_order_release);
    notify(closed);
}

} // namespace zlink::core
