// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/wire_inbound.hpp"

#include "base/tuning.hpp"

#include "base/memory/give_back.hpp"
#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace zlink::engine {
namespace {

// The control frames of a codec are small: they carry a context at most.
constexpr std::uint64_t max_control_bytes = 1024;

inbound_error error_of(cipher_fault fault) noexcept
{
    switch (fault) {
    case cipher_fault::none:
        return inbound_error::none;
    case cipher_fault::not_encrypted:
        return inbound_error::not_encrypted;
    case cipher_fault::too_short:
        return inbound_error::too_short;
    case cipher_fault::out_of_sequence:
        return inbound_error::out_of_sequence;
    case cipher_fault::not_authentic:
        break;
    }
    return inbound_error::not_authentic;
}

} // namespace

// Keeps the buffer: the caller may be in the middle of a command that lies there.
void wire_inbound::reset() noexcept
{
    buffer_.clear();
    needed_ = 0;
    step_ = step::head;
    block_.reset();
    outside_.reset();
    end_joined();
    in_message_ = false;
    publish();
    to_.queue.rollback();
}

int wire_inbound::prepare(std::span<iovec> space) noexcept
{
    if (step_ == step::open_frame)
        return 0; // there was no memory to deliver it
    std::size_t count = 0;
    std::size_t want = read_size_.bytes();
    if (step_ == step::large_body) {
        const auto total = static_cast<std::size_t>(head_.body_bytes);
        space[count++] = {large_body() + block_filled_, total - block_filled_};
        want = tuning::reading::min_read_bytes;
    }
    if (!buffer_.prepare(needed_, want, space[count]))
        return 0;
    read_size_.offered(space[count++].iov_len);
    return static_cast<int>(count);
}

inbound_error wire_inbound::received(std::size_t bytes)
{
    went_on_ = false;
    if (step_ == step::large_body) {
        const std::size_t rest =
            std::min(bytes, static_cast<std::size_t>(head_.body_bytes) - block_filled_);
        block_filled_ += rest;
        bytes -= rest;
    } else {
        read_size_.received(bytes);
    }
    buffer_.filled(bytes);
    return go_on();
}

inbound_error wire_inbound::go_on()
{
    const inbound_error error = take_frames();
    publish();
    return error;
}

// Each step is either done, or leaves everything as it was for the next time.
inbound_error wire_inbound::take_frames()
{
    for (;;) {
        inbound_error error = inbound_error::none;
        const step before = step_;
        switch (step_) {
        case step::head:
            take_run();
            error = take_head();
            if (step_ == before)
                return error;
            break;
        case step::body:
            if (head_.body_bytes <= buffer_.size()) {
                body_in_buffer_ = static_cast<std::size_t>(head_.body_bytes);
                error = open_body(buffer_.unread().first(body_in_buffer_));
            } else if (head_.body_bytes >= tuning::reading::min_large_body_bytes) {
                error = begin_large_body();
            } else {
                needed_ = static_cast<std::size_t>(head_.body_bytes);
                return inbound_error::none;
            }
            break;
        case step::large_body:
            if (block_filled_ < head_.body_bytes)
                return inbound_error::none;
            body_in_buffer_ = 0;
            error = open_body({large_body(), block_filled_});
            break;
        case step::open_frame:
            error = deliver();
            break;
        }
        if (error != inbound_error::none)
            return error;
    }
}

// Most of what there is to do. What is left goes the way of all frames.
void wire_inbound::take_run() noexcept
{
    run_codec* const runs = wire_.codec->traits().runs;
    if (!runs || wire_.cipher || joins_ || !rules_.allow_any_form() || rules_.leaves_out(0))
        return;
    base::byte_queue& queue = to_.queue;
    // The room at hand first: a new chunk would part what is there of a message.
    for (std::size_t room_bytes = 1; !buffer_.empty();) {
        if (!queue.reserve(room_bytes))
            return;
        const frame_run done = runs->decode_run(buffer_.unread(), {queue.tail(), queue.room()},
                                                rules_.max_message_bytes());
        if (done.bytes_read != 0) {
            end_of_frames(done.bytes_written, done.message_bytes_written, done.messages, done.more);
            went_on_ = true;
            buffer_.consume(done.bytes_read);
        }
        if (done.needed_bytes == 0)
            return;
        room_bytes =
            std::max(done.needed_bytes, std::min(buffer_.size(), tuning::reading::min_read_bytes));
    }
}

inbound_error wire_inbound::take_head() noexcept
{
    // Heads are not sealed: a wrong one need not be that of the peer.
    const inbound_error wrong =
        wire_.cipher ? inbound_error::not_authentic : inbound_error::no_frame;
    needed_ = 0;
    const std::span<const std::byte> unread = buffer_.unread();
    if (unread.empty())
        return inbound_error::none;
    switch (wire_.codec->decode_head(unread.data(), unread.size(), head_)) {
    case frame_codec::decoded::incomplete:
        needed_ = frame_codec::max_head_bytes;
        return inbound_error::none;
    case frame_codec::decoded::no_frame:
        return wrong;
    case frame_codec::decoded::head:
        break;
    }
    if (head_.body_bytes > zmtp3::max_body_bytes)
        return wrong;
    std::uint64_t most = max_control_bytes;
    if (!head_.is_control) {
        // Only an open frame tells whether it is a command.
        most = rules_.max_bytes(wire_.cipher || (head_.flags & zmtp3::flag_command) != 0);
        if (wire_.cipher && most < zmtp3::max_body_bytes)
            most = wire_.cipher->sealed_bytes(static_cast<std::size_t>(most));
    }
    const std::uint64_t begun = head_.is_control ? 0 : joined_.size();
    if (head_.body_bytes > most || begun > most - head_.body_bytes)
        return inbound_error::too_large;
    buffer_.consume(head_.head_bytes);
    step_ = step::body;
    return inbound_error::none;
}

inbound_error wire_inbound::begin_large_body() noexcept
{
    if (head_.body_bytes > SIZE_MAX / 4)
        return inbound_error::out_of_memory;
    block_ = base::buffer_ref(base::allocate_buffer(static_cast<std::size_t>(head_.body_bytes)));
    if (!block_)
        return inbound_error::out_of_memory;
    const std::span<const std::byte> begun = buffer_.unread();
    block_filled_ = begun.size();
    if (may_go_outside())
        outside_.begin(static_cast<std::size_t>(head_.body_bytes), messages(), in_message_,
                       to_.queue);
    if (!begun.empty()) // memcpy must not see null
        std::memcpy(large_body(), begun.data(), begun.size());
    buffer_.consume(begun.size());
    step_ = step::large_body;
    return inbound_error::none;
}

// Is the large body as it is, but for its mask, that of a part?
bool wire_inbound::may_go_outside() const noexcept
{
    return !wire_.cipher && !joins_ && !head_.continues && !head_.is_control &&
           (head_.flags & zmtp3::flag_command) == 0;
}

void wire_inbound::offer_memory(std::span<std::byte> memory) noexcept
{
    outside_.offer(memory, messages());
    if (step_ == step::large_body && !in_message_ && may_go_outside())
        outside_.begin_with({block_->data, block_filled_},
                            static_cast<std::size_t>(head_.body_bytes));
}

void wire_inbound::withdraw_memory() noexcept
{
    const bool was_in_use = outside_.in_use();
    outside_.withdraw(block_ ? block_->data : nullptr, block_filled_);
    if (was_in_use && step_ == step::open_frame) // there was no memory to deliver it
        body_ = {block_->data, block_filled_};
}

inbound_error wire_inbound::open_body(std::span<std::byte> body) noexcept
{
    needed_ = 0;
    if (!head_.is_control && (joins_ || head_.continues)) {
        if (!join(body))
            return inbound_error::out_of_memory;
        if (head_.continues) {
            end_of_body();
            return inbound_error::none;
        }
    } else {
        apply_in_place(wire_.codec->traits().received_bodies, body);
    }
    flags_ = head_.flags;
    body_ = body;
    allowed_ = false;
    step_ = step::open_frame;
    if (!wire_.cipher || head_.is_control)
        return inbound_error::none;
    const frame_cipher::opened opened = wire_.cipher->open(head_.flags, body);
    if (opened.fault != cipher_fault::none)
        return error_of(opened.fault);
    flags_ = opened.flags & (zmtp3::flag_more | zmtp3::flag_command);
    body_ = opened.body;
    return inbound_error::none;
}

// Appends the body of a frame to what has come of it before. If it is the last one, `body` is then
// the whole. False without memory: nothing has changed.
bool wire_inbound::join(std::span<std::byte>& body) noexcept
{
    const std::size_t before = joined_.size();
    const std::size_t total = before + body.size();
    base::buffer_ref whole;
    if (!head_.continues && total >= tuning::reading::min_large_body_bytes) {
        whole = base::buffer_ref(base::allocate_buffer(total));
        if (!whole)
            return false;
    }
    try {
        append_bytes(joined_, body);
    } catch (const std::bad_alloc&) {
        return false;
    }
    apply_in_place(wire_.codec->traits().received_bodies, std::span(joined_).subspan(before));
    joins_ = true;
    body = joined_;
    if (whole) {
        std::memcpy(whole->data, joined_.data(), total);
        body = {whole->data, total};
    }
    block_ = std::move(whole);
    return true;
}

void wire_inbound::end_joined() noexcept
{
    if (std::exchange(joins_, false))
        base::give_back(joined_);
}

inbound_error wire_inbound::deliver()
{
    if (head_.is_control) {
        const traffic_command control = wire_.codec->decode_control(body_);
        if (control.kind == traffic_command_kind::close)
            return inbound_error::closed;
        if (control.kind == traffic_command_kind::other) {
            end_of_body();
            return inbound_error::none;
        }
        std::vector<std::byte> frame;
        append_traffic_command(frame, control);
        zmtp3::frame_header header;
        zmtp3::decode_header(frame.data(), frame.size(), header);
        return tell(std::span(frame).subspan(header.header_bytes));
    }
    const bool command = (flags_ & zmtp3::flag_command) != 0;
    const bool more = (flags_ & zmtp3::flag_more) != 0;
    if (body_.size() > rules_.max_bytes(command))
        return inbound_error::too_large;
    if (!command && rules_.leaves_out(body_.size())) {
        end_of_body();
        return inbound_error::none;
    }
    if (command && !rules_.keep(parse_traffic_command(body_).kind))
        return tell(body_);
    if (!command && !allowed_ && !rules_.allow_part(body_.size(), more))
        return inbound_error::bad_envelope;
    allowed_ = true;
    if (command)
        flags_ = zmtp3::flag_command; // the bit of a further part means nothing here
    if (!deliver_part())
        return inbound_error::out_of_memory;
    end_of_body();
    // Between the frames of a message a command becomes visible together with them.
    end_of_frame(command ? in_message_ : more);
    return inbound_error::none;
}

// The frame is over before its command is told: that may reset() everything.
inbound_error wire_inbound::tell(std::span<const std::byte> command_body)
{
    base::buffer_ref block = std::move(block_); // the command may lie there,
    std::vector<std::byte> joined;              // or here
    const bool is_joined = joins_ && !head_.is_control;
    if (is_joined)
        joined.swap(joined_);
    const read_buffer::mark before = buffer_.position();
    end_of_body();
    went_on_ = false;
    try {
        commands_.on_command(command_body);
    } catch (...) {
        buffer_.return_to(before);
        block_ = std::move(block);
        if (is_joined)
            joined_.swap(joined);
        joins_ |= is_joined;
        step_ = step::open_frame;
        throw;
    }
    return inbound_error::none;
}

bool wire_inbound::deliver_part() noexcept
{
    base::byte_queue& queue = to_.queue;
    const std::size_t copied = block_ ? 0 : body_.size();
    std::byte* const at = queue.reserve(zmtp3::long_header_bytes + copied);
    if (!at || (block_ && !body_.empty() && !queue.prepare_append()))
        return false;
    std::size_t bytes = zmtp3::encode_header(at, flags_, body_.size());
    if (copied != 0)
        std::memcpy(at + bytes, body_.data(), copied);
    queue.advance(bytes + copied);
    if (!block_ || body_.empty())
        return true;
    base::buffer& block = *block_.release();
    queue.append(&block, outside_.in_use() ? block.data : body_.data(), body_.size());
    if (outside_.in_use())
        outside_.finish(block, body_.size());
    return true;
}

void wire_inbound::end_of_body() noexcept
{
    buffer_.consume(body_in_buffer_);
    block_.reset();
    if (!head_.is_control && !head_.continues)
        end_joined();
    step_ = step::head;
}

} // namespace zlink::engine
