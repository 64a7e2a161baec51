// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/outgoing.hpp"

#include "base/tuning.hpp"

#include "base/memory/give_back.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/traffic/conflate.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace zlink::engine {
namespace {

// The header of a frame in the queue.
struct queued_header {
    zmtp3::frame_header header;
    std::uint64_t position; // of the frame
    bool is_body_apart;     // the body is not in the memory of the header
};

// Moves `ahead`, where a frame begins, to its body, which lies in one piece.
queued_header next_header(base::byte_queue::lookahead& ahead) noexcept
{
    queued_header at{{}, ahead.position(), false};
    zmtp3::decode_header(ahead.begin(), static_cast<std::size_t>(ahead.end() - ahead.begin()),
                         at.header);
    ahead.consume(at.header.header_bytes);
    at.is_body_apart = at.header.body_bytes != 0 && ahead.begin() == ahead.end();
    if (at.is_body_apart)
        ahead.load();
    return at;
}

} // namespace

// --- connections

void outgoing::begin(std::span<const std::byte> first, wire how, std::span<const std::byte> opening)
{
    // What needs memory comes first: there is no connection yet when there is none.
    std::vector<std::byte> staged(first.begin(), first.end());
    std::vector<std::byte> control(opening.begin(), opening.end());
    encodes_queue_format_ = how.encodes_queue_format();
    wire_ = how.is_default() ? nullptr : std::make_unique<wire>(std::move(how));
    error_ = 0;
    offered_ = source::none;
    staged_ = std::move(staged);
    staged_sent_ = 0;
    control_ = std::move(control);
}

void outgoing::end()
{
    offered_ = source::none;
    staged_.clear();
    staged_sent_ = 0;
    control_.clear();
    put_back_newest();
    batch_.reset();
    control_in_batch_ = false;
    if (wire_ && wire_->is_plain_bytes)
        wake_producer_ |= from_.credit.set_taken(from_.queue.skip_to_border() + passed_by_);
    else
        return_to_message_start();
    wire_.reset(); // its parts may go with the connection
    rest_is_void_ |= std::exchange(rest_expected_, false);
    drop_void_rest();
}

void outgoing::discard()
{
    base::byte_queue& queue = from_.queue;
    queue.unsend();
    while (queue.load()) {
        if (queue.head().is_body)
            queue.consume_body();
        else
            queue.consume(static_cast<std::size_t>(queue.read_end() - queue.read_begin()));
    }
    queue.unsend();
    newest_.reset();
    batch_.reset();
    control_in_batch_ = false;
    from_.newest.take();
    wake_producer_ |= from_.credit.set_taken(queue.published_messages() + passed_by_);
}

// The first message that was not taken as a whole is to be sent again: finds its beginning.
void outgoing::return_to_message_start() noexcept
{
    base::byte_queue& queue = from_.queue;
    const std::uint64_t broken_at = queue.send_position();
    queue.unsend();
    while (queue.read_position() < broken_at && queue.load()) {
        if (queue.head().is_continuation) {
            // It was written past the queue in part: its beginning is not there any more.
            queue.consume_body();
            count_taken(queue.read_position());
            continue;
        }
        auto ahead = queue.look_behind_read_cursor();
        for (bool more = true; more && ahead.load();) {
            const queued_header at = next_header(ahead);
            ahead.consume(static_cast<std::size_t>(at.header.body_bytes));
            more = (at.header.flags & zmtp3::flag_more) != 0;
        }
        const std::uint64_t end = ahead.position();
        if (end > broken_at)
            break;
        while (queue.read_position() < end && queue.load()) {
            if (queue.head().is_body)
                queue.consume_body();
            else
                queue.consume(static_cast<std::size_t>(std::min<std::uint64_t>(
                    queue.read_end() - queue.read_begin(), end - queue.read_position())));
        }
        count_taken(end);
    }
    queue.unsend();
}

// The rest of a frame whose beginning went to an earlier connection.
void outgoing::drop_void_rest()
{
    base::byte_queue& queue = from_.queue;
    if (!rest_is_void_ || !queue.at_boundary() || !queue.load())
        return;
    rest_is_void_ = false;
    if (queue.head().is_continuation) {
        queue.consume_body();
        count_taken(queue.read_position());
    }
    queue.unsend();
}

// The last messages up to this position, unless they were counted with a batch.
void outgoing::count_taken(std::uint64_t position, std::uint64_t messages) noexcept
{
    if (position <= counted_until_)
        return;
    counted_until_ = position;
    // A batch may have been counted together with the newest messages behind it.
    const std::uint64_t taken = from_.credit.taken();
    const std::uint64_t most = from_.queue.published_messages() + passed_by_;
    if (taken < most)
        wake_producer_ |= from_.credit.add_taken(std::min(messages, most - taken));
}

// --- offers

bool outgoing::is_at_boundary() const noexcept
{
    return encodes_queue_format_ && from_.queue.at_boundary() && !rest_expected_;
}

outgoing::offer outgoing::next(std::span<iovec, tuning::writing::max_pieces> entries,
                               bool may_begin) noexcept
{
    if (!control_.empty() && staged_.empty() && !newest_ && !batch_waits() && is_at_boundary()) {
        staged_.swap(control_);
        staged_sent_ = 0;
    }
    if (!staged_.empty())
        return one(source::staged, staged_.data() + staged_sent_, staged_.size() - staged_sent_,
                   entries, false);
    if (batch_waits())
        return offer_batch(entries, false);
    if (newest_)
        return offer_newest(entries, false);
    return passes_queue() ? offer_queue(entries, may_begin) : offer_encoded(entries, may_begin);
}

outgoing::offer outgoing::one(source from, std::byte* at, std::size_t bytes,
                              std::span<iovec> entries, bool begins) noexcept
{
    offered_ = from;
    entries[0] = {at, bytes};
    return {offer_kind::bytes, 1, bytes, begins};
}

outgoing::offer outgoing::offer_batch(std::span<iovec> entries, bool begins) noexcept
{
    offered_ = source::batch;
    offer made{offer_kind::bytes, 0, 0, begins};
    made.count = batch_->list(entries, made.bytes);
    return made;
}

outgoing::offer outgoing::offer_newest(std::span<iovec> entries, bool begins) noexcept
{
    const std::size_t total = view_frame(*newest_.get()).total_bytes;
    return one(source::newest, newest_->data + newest_sent_, total - newest_sent_, entries, begins);
}

outgoing::offer outgoing::offer_encoded(std::span<iovec> entries, bool may_begin) noexcept
{
    const base::byte_queue& queue = from_.queue;
    if (!may_begin && (queue.published_position() != queue.send_position() ||
                       from_.newest.filled() || !control_.empty()))
        return {offer_kind::pending};
    if (!encode_batch())
        return {offer_kind::failed};
    return batch_waits() ? offer_batch(entries, true) : offer{};
}

outgoing::offer outgoing::offer_queue(std::span<iovec> entries, bool may_begin) noexcept
{
    drop_void_rest();
    base::byte_queue& queue = from_.queue;
    base::byte_queue::batch batch;
    if (!rest_is_void_) // else the rest comes first, and is still to be committed
        batch = queue.gather(entries.data(), control_.empty() ? entries.size() : 1,
                             tuning::writing::listed_bytes);
    if (batch.count == 0 && !from_.newest.filled())
        return {};
    if (!may_begin)
        return {offer_kind::pending};
    if (batch.count == 0) {
        newest_ = from_.newest.take();
        newest_sent_ = 0;
        return newest_ ? offer_newest(entries, true) : offer{};
    }
    counted_until_ = queue.send_position() + batch.bytes;
    wake_producer_ |= from_.credit.set_taken(batch.messages + passed_by_);
    offered_ = source::queue;
    return {offer_kind::bytes, batch.count, batch.bytes, true};
}

void outgoing::taken(std::size_t bytes) noexcept
{
    switch (offered_) {
    case source::staged:
        staged_sent_ += bytes;
        if (staged_sent_ < staged_.size())
            return;
        base::give_back(staged_); // seldom needed again
        staged_sent_ = 0;
        return;
    case source::batch:
        batch_->written(bytes);
        let_go_of_written();
        if (batch_waits())
            return;
        newest_.reset();
        control_in_batch_ = false;
        if (encodes_queue_format_ && !is_inside_message())
            batch_.reset(); // seldom needed again
        return;
    case source::newest:
        newest_sent_ += bytes;
        if (newest_sent_ == view_frame(*newest_.get()).total_bytes)
            newest_.reset();
        return;
    case source::queue:
        from_.queue.sent(bytes);
        if (bytes != 0)
            rest_expected_ = false; // it was first
        return;
    case source::none:
        return;
    }
}

bool outgoing::all_taken() const noexcept
{
    return from_.queue.send_position() == from_.queue.published_position() && !control_waits() &&
           !batch_waits() && !newest_ && !from_.newest.filled();
}

bool outgoing::sleep() noexcept
{
    return from_.queue.sleep() && !(from_.newest.filled() && from_.queue.wake());
}

// --- commands

bool outgoing::add_command(const traffic_command& command)
{
    if (control_.size() + traffic_command_frame_bytes(command) > most_control_bytes)
        return false;
    traffic_command sent = command;
    const std::size_t most =
        wire_ ? wire_->codec->traits().max_context_bytes : max_ping_context_bytes;
    if (sent.kind == traffic_command_kind::ping || sent.kind == traffic_command_kind::pong)
        sent.argument = sent.argument.first(std::min(sent.argument.size(), most));
    append_traffic_command(control_, sent);
    return true;
}

std::vector<std::byte> outgoing::farewell(engine::farewell why) const
{
    std::vector<std::byte> frame;
    if (wire_ && !batch_waits() && staged_.empty())
        wire_->codec->encode_farewell(frame, why);
    return frame;
}

std::size_t outgoing::bytes_on_wire(const traffic_command& command) const
{
    std::vector<std::byte> frame;
    append_traffic_command(frame, command);
    return wire_ ? engine::bytes_on_wire(*wire_, frame) : frame.size();
}

// --- encoding

// Can the bytes of the queue be sent as they lie there?
bool outgoing::passes_queue() const noexcept
{
    return encodes_queue_format_ && passes_filter(from_.queue.send_position());
}

// Do all frames from this position of the queue on pass as they are?
bool outgoing::passes_filter(std::uint64_t position) const noexcept
{
    return !wire_ || !wire_->filter || wire_->filter->passes_all(position);
}

// What of the queue the batch has written, or need not write.
void outgoing::let_go_of_written() noexcept
{
    const std::uint64_t sent = from_.queue.send_position();
    if (batch_->position_written() > sent)
        from_.queue.sent(static_cast<std::size_t>(batch_->position_written() - sent));
}

// Was the next message of the queue encoded in part, until memory was exhausted?
bool outgoing::is_inside_message() const noexcept
{
    return batch_->empty() && batch_->encoded_until() > from_.queue.send_position();
}

// Encodes the next message of the queue; false if there is none. The queue has whole frames: with
// such a wire nothing is written past it. The first frames may have been encoded before.
bool outgoing::encode_message(base::byte_queue::lookahead& ahead, frame_encoder& to)
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

// The same for many small messages at once; false if there are none, or one that is not small
// comes next.
bool outgoing::encode_run(base::byte_queue::lookahead& ahead)
{
    run_codec* const runs = wire_->codec->traits().runs;
    if (!runs || wire_->cipher || is_inside_message() || !ahead.load() ||
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
        uncounted += ahead.position() + each.bytes_read > counted_until_;
    ahead.consume(done.bytes_read);
    count_taken(ahead.position(), uncounted);
    return true;
}

void outgoing::put_back_newest() noexcept
{
    if (newest_)
        from_.newest.put_back(std::move(newest_));
    newest_.reset();
}

// The same for a message that replaces others.
void outgoing::encode_newest(frame_encoder& to)
{
    newest_ = from_.newest.take(); // until it is written
    if (!newest_)
        return;
    newest_sent_ = 0;
    const copied_frame frame = view_frame(*newest_.get());
    to.put({frame.flags, frame.body, newest_.get(), from_.queue.published_position()});
    if (!batch_waits())
        newest_.reset(); // the filter has left it out
}

void outgoing::encode_control(frame_encoder& to)
{
    const std::size_t put_bytes = to.put_own(control_);
    control_in_batch_ = batch_waits();
    const bool all = put_bytes == control_.size();
    control_.erase(control_.begin(), control_.begin() + static_cast<std::ptrdiff_t>(put_bytes));
    if (!all)
        throw std::bad_alloc();
}

// Fills the batch with what there is and there is memory for; false if that is nothing at all.
bool outgoing::encode_batch() noexcept
{
    drop_void_rest();
    try {
        if (!batch_)
            batch_ = std::make_unique<write_batch>();
        frame_encoder encoder(*wire_, *batch_);
        auto ahead = from_.queue.look_behind_send_cursor();
        batch_->begin_at(ahead.position());
        if (!is_inside_message()) // else the rest of that message comes first
            encode_control(encoder);
        while (!rest_is_void_ && !batch_->full()) {
            if (encode_run(ahead))
                continue;
            if (!encode_message(ahead, encoder))
                break;
            batch_->end_message(ahead.position());
            count_taken(ahead.position());
        }
        if (!batch_waits())
            encode_newest(encoder);
        if (encoder.failed()) {
            error_ = EPROTO;
            return false;
        }
    } catch (const std::bad_alloc&) {
        if (!batch_waits()) {
            put_back_newest();
            error_ = ENOMEM;
            return false;
        }
    }
    if (!batch_waits())
        let_go_of_written();
    return true;
}

// --- past the queue

bool outgoing::can_pass_by() const noexcept
{
    return !batch_waits() && control_.empty() && staged_.empty() && !newest_ && passes_queue();
}

bool outgoing::list_all(std::span<iovec, tuning::writing::max_pieces> entries,
                        base::byte_queue::batch& all) noexcept
{
    drop_void_rest();
    base::byte_queue& queue = from_.queue;
    all = queue.gather(entries.data(), entries.size() - 2, tuning::writing::listed_bytes);
    return !rest_is_void_ && queue.send_position() + all.bytes == queue.published_position();
}

void outgoing::begin_listed(const base::byte_queue::batch& all) noexcept
{
    if (all.count == 0)
        return;
    counted_until_ = from_.queue.send_position() + all.bytes;
    wake_producer_ |= from_.credit.set_taken(all.messages + passed_by_);
}

void outgoing::passed_by(std::size_t queued, std::size_t message, std::size_t taken) noexcept
{
    if (queued != 0 && taken != 0) {
        from_.queue.sent(std::min(taken, queued));
        rest_expected_ = false; // it was first
    }
    const std::size_t of_message = taken - std::min(taken, queued);
    if (of_message == message)
        count_passed_by();
    if (of_message != 0)
        rest_expected_ = of_message != message;
}

// A cipher numbers its frames: what it has sealed has to be sent.
bool outgoing::can_encode_past() const noexcept
{
    return wire_ && !encodes_queue_format_ && !wire_->cipher && all_taken() && !rest_expected_ &&
           !rest_is_void_ && passes_filter(from_.queue.send_position());
}

bool outgoing::encode_past(std::span<const std::byte> frames,
                           std::span<const std::byte> body) noexcept
{
    try {
        if (!batch_)
            batch_ = std::make_unique<write_batch>();
        batch_->begin_at(from_.queue.send_position());
        frame_encoder encoder(*wire_, *batch_);
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
    batch_->clear();
    return false;
}

void outgoing::count_passed_by() noexcept
{
    from_.credit.add_sent(1);
    wake_producer_ |= from_.credit.add_taken(1);
    wake_producer_ |= from_.credit.report(); // nothing is queued behind it
    ++passed_by_;
}

void outgoing::keep_past(base::certain_memory& room) noexcept
{
    count_passed_by();
    if (batch_waits())
        batch_->keep_borrowed(room);
}

void outgoing::give_up_past() noexcept
{
    batch_->clear();
}

} // namespace zlink::engine
