// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/encoded_source.hpp"

#include "base/tuning.hpp"

#include <cerrno>
#include <new>

namespace zlink::engine {

// Releases the bytes of the queue that the batch has written or filtered out.
void encoded_source::taken(std::size_t bytes) noexcept
{
    batch_->written(bytes);
    queue_.written_until(batch_->position_written());
    if (!at_boundary())
        return;
    newest_.drop();
    has_own_frames_ = false;
    if (wire_.encodes_queue_format() && !is_inside_message())
        batch_.reset(); // seldom needed again
}

int encoded_source::encode() noexcept
{
    const bool no_rest = queue_.drop_void_rest();
    try {
        if (!batch_)
            batch_ = std::make_unique<write_batch>();
        frame_encoder encoder(wire_, *batch_);
        const auto ahead = queue_.look_ahead();
        batch_->begin_at(ahead.position());
        if (!is_inside_message()) // else the rest of that message comes first
            encode_own(encoder);
        if (no_rest)
            encode_queue(encoder, ahead);
        if (at_boundary())
            encode_newest(encoder);
        if (encoder.failed())
            return EPROTO;
    } catch (const std::bad_alloc&) {
        if (at_boundary()) {
            newest_.put_back();
            return ENOMEM;
        }
    }
    if (at_boundary())
        queue_.written_until(batch_->position_written());
    return 0;
}

// Was the next message of the queue encoded in part, until memory was exhausted?
bool encoded_source::is_inside_message() const noexcept
{
    return batch_->empty() && batch_->encoded_until() > queue_.position();
}

void encoded_source::encode_own(frame_encoder& to)
{
    std::vector<std::byte>& frames = own_.waiting();
    const std::size_t put_bytes = to.put_own(frames);
    has_own_frames_ = !at_boundary();
    const bool all = put_bytes == frames.size();
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(put_bytes));
    if (!all)
        throw std::bad_alloc();
}

void encoded_source::encode_queue(frame_encoder& to, base::byte_queue::lookahead ahead)
{
    while (!batch_->full()) {
        if (encode_run(ahead))
            continue;
        if (!encode_message(ahead, to))
            break;
        batch_->end_message(ahead.position());
        queue_.count_taken(ahead.position());
    }
}

// Encodes many small messages at once; false if there are none, or one that is not small comes
// next.
bool encoded_source::encode_run(base::byte_queue::lookahead& ahead)
{
    run_codec* const runs = wire_.codec->traits().runs;
    if (!runs || wire_.cipher || is_inside_message() || !ahead.load() ||
        !passes_filter(ahead.position()))
        return false;
    const std::span frames(ahead.begin(), ahead.end());
    // For all there is, unless the messages are tiny; in any case for the first one.
    const std::size_t room_bytes = frames.size() * 3 + frame_codec::max_head_bytes;
    message_end ends[tuning::writing::run_messages];
    const frame_run done = runs->encode_run(frames, batch_->reserve(room_bytes), ends);
    if (done.messages == 0)
        return false;
    const auto messages = std::span(ends).first(done.messages);
    batch_->advance(done.bytes_written, ahead.position(), messages);
    std::uint64_t uncounted = 0;
    for (const message_end& each : messages)
        uncounted += !queue_.is_counted(ahead.position() + each.bytes_read);
    ahead.consume(done.bytes_read);
    queue_.count_taken(ahead.position(), uncounted);
    return true;
}

// Encodes the next message; false if there is none. The queue has whole frames: with such a wire
// nothing is written past it. The first frames may have been encoded before.
bool encoded_source::encode_message(base::byte_queue::lookahead& ahead, frame_encoder& to)
{
    bool more = true;
    bool any = false;
    while (more && ahead.load()) {
        any = true;
        const queued_header at = next_header(ahead);
        if (at.position >= batch_->encoded_until())
            to.put({at.header.flags,
                    {ahead.begin(), static_cast<std::size_t>(at.header.body_bytes)},
                    at.is_body_apart ? ahead.head().owner : nullptr,
                    at.position});
        ahead.consume(static_cast<std::size_t>(at.header.body_bytes));
        batch_->encoded(ahead.position());
        more = (at.header.flags & zmtp3::flag_more) != 0;
    }
    return any;
}

// A message that replaces others stays in its source until it is written.
void encoded_source::encode_newest(frame_encoder& to)
{
    if (!newest_.take())
        return;
    const copied_frame frame = newest_.frame();
    to.put({frame.flags, frame.body, newest_.memory(), queue_.published_position()});
    if (at_boundary())
        newest_.drop(); // the filter has left it out
}

// A cipher numbers its frames: what it has sealed has to be sent.
bool encoded_source::can_encode_past() const noexcept
{
    return !wire_.encodes_queue_format() && !wire_.cipher && !queue_.expects_rest() &&
           passes_filter(queue_.position());
}

bool encoded_source::encode_past(std::span<const std::byte> frames,
                                 std::span<const std::byte> body) noexcept
{
    try {
        if (!batch_)
            batch_ = std::make_unique<write_batch>();
        batch_->begin_at(queue_.position());
        frame_encoder encoder(wire_, *batch_);
        for (zmtp3::frame_header at; zmtp3::decode_header(frames.data(), frames.size(), at);) {
            frames = frames.subspan(at.header_bytes);
            if (frames.empty()) {
                encoder.put_borrowed(at.flags, body);
                return true;
            }
            const auto bytes = static_cast<std::size_t>(at.body_bytes);
            encoder.put_frame(at.flags, frames.first(bytes), nullptr);
            frames = frames.subspan(bytes);
        }
    } catch (const std::bad_alloc&) {
    }
    if (batch_)
        batch_->clear();
    return false;
}

} // namespace zlink::engine
