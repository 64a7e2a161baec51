// SPDX-License-Identifier: Apache-2.0
#include "core/pipe/pipe_output.hpp"

#include "base/rules.hpp"
#include "engine/traffic/conflate.hpp"

#include <algorithm>
#include <sys/uio.h>
#include <utility>

namespace zlink::core {

namespace zmtp3 = engine::zmtp3;

// The slow path of write().
bool pipe_output::write_any(const frame& part) noexcept
{
    if (conflates_) [[unlikely]] {
        if (part.more())
            return true; // messages of several parts are not supported here: the last part is kept
        base::buffer_ref copy = engine::copy_frame(part.flags, part.bytes());
        return copy && put_newest(std::move(copy));
    }
    if (is_chunks_ && part.size == 0) [[unlikely]] { // no bytes are no message
        in_message_ = part.more();
        return in_message_ || !channel_.queue.has_uncommitted() || commit();
    }
    if (part.size >= tuning::body::min_uncopied_bytes && !batches() && !in_message_ &&
        !channel_.queue.consumer_asleep())
        make_way(part);
    body_facts facts = facts_of(part);
    const body_route route = route_of_body(part.size, facts);
    if (route == body_route::lent)
        return lend(part);
    if (route == body_route::direct && write_directly(part))
        return true;
    facts.may_be_direct = false;
    return append(route_of_body(part.size, facts), part);
}

bool pipe_output::append(body_route route, const frame& part) noexcept
{
    if (base::rule_is_on(base::rule::packet_batches) && batches() &&
        batch_bytes_ + zmtp3::long_header_bytes + part.size >
            tuning::batching::loopback_packet_bytes)
        flush(); // rather than begin one more packet with the end of this message
    const bool copies = route == body_route::copied;
    std::byte* const at =
        channel_.queue.reserve(zmtp3::long_header_bytes + (copies ? part.size : 0));
    if (!at)
        return false;
    const std::size_t header_bytes = encode_header(at, part);
    if (!copies)
        return append_reference(header_bytes, part);
    if (part.size) // memcpy must not see null
        std::memcpy(at + header_bytes, part.data, part.size);
    return end_part(header_bytes + part.size, part.more());
}

body_facts pipe_output::facts_of(const frame& part) const noexcept
{
    return {.is_shared = part.owner != nullptr,
            .is_users = part.user_owned(),
            .is_inproc = is_inproc_,
            .may_lend = wants_to_lend(part) && base::near_reader::has_caught_up(channel_.credit),
            .may_be_direct = outlet_ && !part.more() && base::rule_is_on(base::rule::write_through),
            .is_batched = batches(),
            .is_stalled = channel_.stalled.load(std::memory_order_relaxed)};
}

bool pipe_output::wants_to_lend(const frame& part) const noexcept
{
    return waits_for_reader_ && part.lendable && !part.more() && !part.owner &&
           part.size >= tuning::inproc::min_lent_bytes;
}

bool pipe_output::put_chunk(const std::byte* data, std::size_t size) noexcept
{
    if (size == 0)
        return false; // no bytes are no message
    if (!is_plain_)
        return try_to_write_small(data, size, 0);
    std::byte* const at = channel_.queue.reserve(size);
    if (!at)
        return false;
    std::memcpy(at, data, size);
    return end_part(size, false);
}

base::buffer_ref pipe_output::prepare(const frame& message) noexcept
{
    if (conflates_)
        return engine::copy_frame(message.flags, message.bytes());
    base::buffer_ref copy(base::allocate_buffer(message.size));
    if (!copy || !channel_.queue.reserve(zmtp3::long_header_bytes) ||
        !channel_.queue.prepare_append())
        return {};
    if (message.size) // memcpy must not see null
        std::memcpy(copy->data, message.data, message.size);
    return copy;
}

void pipe_output::write_prepared(const frame& message, base::buffer_ref prepared) noexcept
{
    if (conflates_) {
        put_newest(std::move(prepared));
        return;
    }
    base::byte_queue& queue = channel_.queue;
    queue.advance(encode_header(queue.tail(), message));
    if (message.size) {
        const std::byte* const body = prepared->data;
        queue.append(prepared.release(), body, message.size);
    }
    commit();
}

void pipe_output::give_up_message() noexcept
{
    channel_.queue.rollback();
    in_message_ = false;
}

// Returns the size of the header.
std::size_t pipe_output::encode_header(std::byte* at, const frame& part) const noexcept
{
    return is_plain_ ? 0 : zmtp3::encode_header(at, part.flags, part.size);
}

// What was written before goes first, so that this body need not queue up behind it.
void pipe_output::make_way(const frame& part) noexcept
{
    if (waits_for_reader_ && reader_)
        near_reader_.let_catch_up(channel_.credit, part.size, wants_to_lend(part), has_others_);
    else if (outlet_)
        follow(outlet_->flush(flush_reason::large_message));
}

bool pipe_output::lend(const frame& part) noexcept
{
    const base::buffer_ref block(base::allocate_buffer(part.size));
    base::byte_queue& queue = channel_.queue;
    std::byte* const at = block ? queue.reserve(zmtp3::long_header_bytes) : nullptr;
    if (!at || !queue.prepare_append())
        return false;
    queue.advance(encode_header(at, part));
    base::near_reader::offer(*block.get(), part.data, part.size);
    block->add_reference();
    queue.append(block.get(), block->data, part.size);
    in_message_ = false;
    commit();
    near_reader_.settle(*block.get(), part.data, part.size, has_others_);
    return true;
}

// Appends the header, which was written at the reserved place, and the body by reference. A body
// without an owner gets a block of its own.
bool pipe_output::append_reference(std::size_t header_bytes, const frame& part) noexcept
{
    if (!channel_.queue.prepare_append())
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
    channel_.queue.advance(header_bytes);
    channel_.queue.append(owner, data, part.size);
    return end_appended_part(header_bytes + part.size, part.more());
}

// False if nothing of the message has gone to the connection.
bool pipe_output::write_directly(const frame& part) noexcept
{
    base::byte_queue& queue = channel_.queue;
    std::byte header[zmtp3::long_header_bytes];
    std::span<std::byte> first(header, 0);
    if (in_message_) {
        first = message_so_far();
        if (first.empty())
            return false;
    }
    if (!batches() && !queue.consumer_asleep())
        return false;
    first = {first.data(), first.size() + encode_header(first.data() + first.size(), part)};
    base::certain_memory for_rest(first.size() + part.size);
    if (!for_rest || !queue.prepare_append())
        return false;
    const iovec pieces[2] = {{first.data(), first.size()},
                             {const_cast<std::byte*>(part.data), part.size}};
    const auto direct = outlet_->write_direct(pieces, for_rest);
    if (direct.bytes == 0)
        return false;
    follow(direct.next);
    in_message_ = false;
    queue.rollback(); // the bytes stay where they are until something is appended
    if (direct.bytes != first.size() + part.size)
        append_rest(pieces, direct.bytes, for_rest);
    return true;
}

// The parts before, an envelope mostly, with room for one more header behind them. Empty if they do
// not lie in one piece.
std::span<std::byte> pipe_output::message_so_far() noexcept
{
    std::byte* const at = channel_.queue.reserve(zmtp3::long_header_bytes);
    const std::span<const std::byte> parts = channel_.queue.uncommitted();
    if (!at || parts.empty())
        return {};
    return {at - parts.size(), parts.size()};
}

// A direct write was partial: a copy of the rest is its continuation.
void pipe_output::append_rest(const iovec (&message)[2], std::size_t sent,
                              base::certain_memory& memory) noexcept
{
    const std::size_t rest = message[0].iov_len + message[1].iov_len - sent;
    base::buffer* const copy = memory.allocate(rest);
    std::byte* to = copy->data;
    for (const iovec& piece : message) {
        const std::size_t passed = std::min(sent, piece.iov_len);
        sent -= passed;
        std::memcpy(to, static_cast<const std::byte*>(piece.iov_base) + passed,
                    piece.iov_len - passed);
        to += piece.iov_len - passed;
    }
    channel_.queue.append(copy, copy->data, rest, true);
    commit();
    batch_bytes_ = rest; // later, as it was not to be written at once
}

void pipe_output::tell_readable() noexcept
{
    if (!outlet_ && reader_)
        reader_->on_readable();
    follow(outlet_ ? outlet_->committed() : plan{});
}

void pipe_output::flush() noexcept
{
    follow(outlet_ ? outlet_->flush(flush_reason::full) : plan{});
}

void pipe_output::flush_or_check_age() noexcept
{
    if (batch_bytes_ >= tuning::batching::flush_bytes || !outlet_)
        return flush();
    outlet_->flush(flush_reason::maybe_due); // writes other batches as well; this one goes on
    plan_.flush_at_bytes =
        std::min(batch_bytes_ + tuning::batching::clock_check_bytes, tuning::batching::flush_bytes);
}

bool pipe_output::put_newest(base::buffer_ref copy) noexcept
{
    channel_.newest.put(std::move(copy));
    if (!channel_.queue.wake())
        return true;
    if (outlet_)
        outlet_->committed();
    else if (reader_)
        reader_->on_readable();
    return true;
}

} // namespace zlink::core
