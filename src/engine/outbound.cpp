// SPDX-License-Identifier: Apache-2.0
#include "engine/outbound.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/conflate.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace zlink::engine {
namespace {

// One system call takes what these allow. Messages count as taken out of the queue when they are
// listed, so this is also how far the high-water mark may be exceeded.
constexpr std::size_t batch_entries = 64;
constexpr std::size_t batch_bytes = 128 * 1024;
// So many batches per turn before others on the I/O thread are served.
constexpr int batches_per_turn = 16;
// A sending thread that commits fewer messages than this between two looks of the I/O thread had
// better write each of them.
constexpr std::uint64_t fewest_messages_on_duty = 8;
constexpr std::uint64_t small_message_bytes = 2 * 1024; // a larger one counts for several

// What is left of a piece once so many bytes have been taken from it.
iovec after(const iovec& piece, std::size_t bytes) noexcept
{
    bytes = std::min(bytes, piece.iov_len);
    return {static_cast<std::byte*>(piece.iov_base) + bytes, piece.iov_len - bytes};
}

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

void outbound::attach(transport::stream& to, std::span<const std::byte> first, wire how,
                      std::span<const std::byte> opening, std::size_t packet_bytes)
{
    std::lock_guard lock(mutex_);
    from_.queue.wake(); // no direct write before what is queued has gone
    to_ = &to;
    full_ = false;
    holds_ = false;
    packet_bytes_ = packet_bytes;
    from_.stalled.store(false, std::memory_order_relaxed);
    blocked_ = false;
    error_ = 0;
    staged_.assign(first.begin(), first.end());
    staged_sent_ = 0;
    control_.assign(opening.begin(), opening.end());
    encodes_queue_format_ = how.encodes_queue_format();
    wire_ = how.changes_nothing() ? nullptr : std::make_unique<wire>(std::move(how));
}

void outbound::detach()
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return;
    to_ = nullptr;
    from_.stalled.store(true, std::memory_order_relaxed);
    blocked_ = false;
    holds_ = false;
    staged_.clear();
    staged_sent_ = 0;
    control_.clear();
    if (newest_)
        from_.newest.put_back(std::move(newest_));
    newest_.reset();
    end_duty_locked();
    from_.queue.wake(); // messages wait for the next connection, nobody need be told of them
    batch_.reset();
    control_in_batch_ = false;
    if (wire_ && wire_->is_plain_bytes)
        wake_producer_ |= from_.flow.set_taken(from_.queue.skip_to_border() + passed_by_);
    else
        return_to_message_start();
    wire_.reset(); // its parts may go with the connection
    rest_is_void_ |= std::exchange(rest_expected_, false);
    drop_void_rest();
}

bool outbound::discard()
{
    std::lock_guard lock(mutex_);
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
    if (batch_)
        batch_->clear();
    from_.newest.take();
    const bool wake_producer = from_.flow.set_taken(queue.published_messages() + passed_by_);
    return from_.flow.report() || wake_producer;
}

outbound::outcome outbound::drain()
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        if (pressing_.load(std::memory_order_relaxed))
            return {status::left, false};
        lock.lock();
    }
    blocked_ = false;
    return drain_from_io_thread();
}

outbound::outcome outbound::send_command(const traffic_command& command)
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return {status::detached, false};
    if (control_.size() + traffic_command_frame_bytes(command) <= most_control_bytes)
        append_traffic_command(control_, command);
    from_.queue.wake();
    if (blocked_)
        return {status::blocked, false};
    return drain_from_io_thread();
}

outbound::outcome outbound::drain_directly(stalls how)
{
    std::lock_guard lock(mutex_);
    outcome result;
    if (!blocked_)
        result = drain_pressing(on_duty_ ? batches_per_turn : 1, how);
    if (result.state != status::written) {
        on_duty_ = false;
        from_.queue.take_recall();
    }
    return result;
}

outbound::outcome outbound::relieve(stalls how)
{
    if (how == stalls::leave)
        return {};
    std::lock_guard lock(mutex_);
    outcome result;
    if (on_duty_ || !to_ || from_.queue.consumer_asleep())
        return result;
    const bool pressed = press_on(how, [&] {
        const outcome more = drain_locked(batches_per_turn);
        result.state = more.state;
        result.wake_producer |= more.wake_producer;
        return more.state != status::blocked;
    });
    if (!pressed)
        result.state = status::idle; // the I/O thread sees to it as before
    return result;
}

outbound::outcome outbound::drain_and_end_duty(stalls how)
{
    std::lock_guard lock(mutex_);
    const bool was_on_duty = std::exchange(on_duty_, false);
    from_.queue.take_recall();
    if (!was_on_duty || blocked_)
        return {}; // whoever has ended the duty sees to the rest
    return drain_pressing(batches_per_turn, how);
}

// The sending thread: a peer that reads makes room sooner than the I/O thread would be awake.
outbound::outcome outbound::drain_pressing(int batches, stalls how)
{
    outcome result = drain_locked(batches);
    if (result.state != status::blocked)
        return result;
    press_on(how, [&] {
        const outcome more = drain_locked(batches);
        result.state = more.state;
        result.wake_producer |= more.wake_producer;
        return more.state != status::blocked;
    });
    return result;
}

// Calls attempt() until it returns true, or the connection takes nothing for too long. False if it
// was not called, as that has been in vain lately.
template <class Attempt>
bool outbound::press_on(stalls how, Attempt attempt) noexcept
{
    if (how == stalls::leave)
        return false;
    using step = base::stall_wait::step;
    const bool tried = stall_.wait([&] {
        // Only now: who does not wait leaves the connection to the I/O thread, as it was.
        pressing_.store(true, std::memory_order_relaxed);
        const std::uint64_t before = bytes_written_;
        if (attempt())
            return step::done;
        return bytes_written_ != before ? step::progress : step::nothing;
    });
    pressing_.store(false, std::memory_order_relaxed);
    return tried;
}

transport::io_result outbound::write(const iovec* entries, int count) noexcept
{
    const transport::io_result result = to_->write_some(entries, count);
    note_room(result, transport::total_bytes(entries, count));
    return result;
}

void outbound::note_room(const transport::io_result& result, std::size_t offered) noexcept
{
    bytes_written_ += result.bytes;
    if (result.bytes != 0 && full_)
        ++times_made_room_;
    full_ = result.bytes < offered;
    holds_ = result.more;
}

// What the stream has taken and not passed on yet: nobody else would see to it.
outbound::status outbound::flush() noexcept
{
    const transport::io_result result = to_->flush();
    if (result.failed()) {
        error_ = result.error;
        return status::failed;
    }
    if (result.would_block())
        return status::blocked;
    holds_ = false;
    return status::idle;
}

std::size_t outbound::bytes_on_wire(const traffic_command& command)
{
    std::vector<std::byte> frame;
    append_traffic_command(frame, command);
    std::lock_guard lock(mutex_);
    return wire_ ? engine::bytes_on_wire(*wire_, frame) : frame.size();
}

bool outbound::control_waits_locked() const noexcept
{
    return !control_.empty() || !staged_.empty() || control_in_batch_;
}

bool outbound::control_waits()
{
    std::lock_guard lock(mutex_);
    return control_waits_locked();
}

sending_progress::state outbound::progress()
{
    std::lock_guard lock(mutex_); // nothing is written between one number and the next
    sending_progress::state now;
    now.written_bytes = static_cast<std::int64_t>(bytes_written_);
    now.acknowledged_bytes = now.written_bytes;
    if (to_)
        now.acknowledged_bytes -= static_cast<std::int64_t>(to_->undelivered_bytes());
    now.times_made_room = times_made_room_;
    now.control_waits = control_waits_locked();
    return now;
}

bool outbound::begin_duty()
{
    std::lock_guard lock(mutex_);
    if (!to_ || blocked_ || (wire_ && !wire_->batches) || !base::has_heavy_fence())
        return false;
    return on_duty_ = true;
}

// The sending thread will be told with its next commit; what it has committed is visible now.
void outbound::end_duty_locked()
{
    if (std::exchange(on_duty_, false))
        from_.queue.recall();
}

// The I/O thread, mostly: unless all is written it goes on with what is left, and the duty of the
// sending thread is over; nobody would look after it while the connection is blocked.
outbound::outcome outbound::drain_from_io_thread()
{
    const outcome result = drain_locked(batches_per_turn);
    if (result.state != status::written)
        end_duty_locked();
    return result;
}

outbound::outcome outbound::collect()
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return {status::written, false}; // the sending thread is at it
    return collect_locked(fewest_messages_on_duty);
}

void outbound::collect_at_once(const std::function<void(outcome)>& then)
{
    std::lock_guard lock(mutex_);
    then(collect_locked(1));
}

outbound::outcome outbound::collect_locked(std::uint64_t fewest_messages)
{
    if (blocked_ || !on_duty_)
        return {status::idle, false};
    const std::uint64_t committed = from_.flow.sent() + bytes_written_ / small_message_bytes;
    if (committed - std::exchange(collected_, committed) < fewest_messages)
        end_duty_locked();
    return drain_from_io_thread();
}

bool outbound::end_duty()
{
    std::lock_guard lock(mutex_);
    if (!std::exchange(on_duty_, false))
        return false;
    from_.queue.announce_recall();
    return true;
}

void outbound::write_last(const std::function<void(outcome)>& then)
{
    std::lock_guard lock(mutex_);
    if (to_ && !blocked_)
        then(drain_locked(batches_per_turn));
}

void outbound::while_attached(const std::function<void()>& then)
{
    std::lock_guard lock(mutex_);
    if (to_)
        then();
}

bool outbound::unless_at_work(const std::function<void()>& then)
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return true;
    if (to_ && on_duty_)
        then();
    return on_duty_;
}

bool outbound::drained()
{
    std::lock_guard lock(mutex_);
    return from_.queue.send_position() == from_.queue.published_position() &&
           !control_waits_locked() && !holds_ && !batch_waits() && !newest_ &&
           !from_.newest.filled();
}

// Of a message behind `before` other bytes, what is not worth a packet of its own.
std::size_t outbound::left_for_next(std::size_t before, const iovec (&message)[2]) noexcept
{
    const std::size_t total = before + message[0].iov_len + message[1].iov_len;
    if (packet_bytes_ == 0 || total <= packet_bytes_)
        return 0;
    const std::size_t rest = total % packet_bytes_;
    return rest <= std::min(most_left_bytes, message[1].iov_len) ? rest : 0;
}

outbound::passed outbound::write_through(const iovec (&message)[2], stalls how, bool in_stream)
{
    passed result;
    base::byte_queue& queue = from_.queue;
    std::lock_guard lock(mutex_);
    if (!to_ || blocked_ || batch_waits() || !control_.empty() || staged_sent_ != staged_.size() ||
        !passes_queue())
        return result;
    iovec entries[batch_entries];
    base::byte_queue::batch before;
    if (on_duty_) {
        drop_void_rest();
        before = queue.gather(entries, batch_entries - 2, batch_bytes);
        if (rest_is_void_ || queue.send_position() + before.bytes != queue.published_position())
            return result;
    } else if (!queue.wake()) {
        return result;
    }
    std::size_t left = on_duty_ || in_stream ? left_for_next(before.bytes, message) : 0;
    const bool begins_duty = !on_duty_ && left != 0 && base::has_heavy_fence();
    if (!on_duty_ && !begins_duty)
        left = 0;
    const std::size_t total = message[0].iov_len + message[1].iov_len;
    const std::size_t goal = before.bytes + total - left;
    entries[before.count] = message[0];
    entries[before.count + 1] = {message[1].iov_base, message[1].iov_len - left};
    if (before.count != 0) {
        counted_until_ = queue.send_position() + before.bytes;
        result.wake_producer = from_.flow.set_taken(before.messages + passed_by_);
    }
    std::size_t written = 0;
    iovec* next = entries;
    iovec* const end = entries + before.count + 2;
    const auto write_more = [&] {
        const transport::io_result more = write(next, static_cast<int>(end - next));
        written += more.bytes;
        std::size_t bytes = more.bytes;
        for (; next != end && bytes >= next->iov_len; ++next)
            bytes -= next->iov_len;
        if (bytes != 0)
            *next = after(*next, bytes);
        return more.failed() || written == goal;
    };
    if (!write_more())
        press_on(how, write_more);
    if (before.bytes != 0 && written != 0) {
        queue.sent(std::min(written, before.bytes));
        rest_expected_ = false; // it was first
    }
    result.bytes = written - std::min(written, before.bytes);
    result.begins_duty = begins_duty && written == goal;
    if (result.begins_duty) {
        on_duty_ = true;
        queue.take_recall(); // of a duty that has ended
    }
    // Nothing is queued, so going back to sleep cannot fail. With a rest to come the commit of it
    // wakes the consumer as any other; a broken connection is found by the next write.
    if (holds_)
        flush(); // an error is found by the next write
    result.unfinished = holds_;
    if (!on_duty_ && !holds_)
        queue.sleep();
    if (result.bytes == total) {
        from_.flow.add_sent(1);
        result.wake_producer |= from_.flow.add_taken(1);
        ++passed_by_;
    }
    if (result.bytes != 0)
        rest_expected_ = result.bytes != total;
    return result;
}

outbound::status outbound::write_staged()
{
    while (staged_sent_ < staged_.size()) {
        const iovec rest{staged_.data() + staged_sent_, staged_.size() - staged_sent_};
        const transport::io_result result = write(&rest, 1);
        if (result.failed()) {
            error_ = result.error;
            return status::failed;
        }
        staged_sent_ += result.bytes;
        if (result.would_block())
            return status::blocked;
    }
    staged_ = {}; // seldom needed again
    staged_sent_ = 0;
    return status::idle;
}

outbound::status outbound::write_newest()
{
    const std::size_t total = view_frame(*newest_.get()).total_bytes;
    while (newest_sent_ < total) {
        const iovec rest{newest_->data + newest_sent_, total - newest_sent_};
        const transport::io_result result = write(&rest, 1);
        if (result.failed()) {
            error_ = result.error;
            return status::failed;
        }
        newest_sent_ += result.bytes;
        if (result.would_block())
            return status::blocked;
    }
    newest_.reset();
    return status::idle;
}

outbound::status outbound::write_batch_now() noexcept
{
    const transport::io_result result = batch_->write_to(*to_);
    note_room(result, result.bytes + batch_waits());
    let_go_of_written();
    if (result.failed()) {
        error_ = result.error;
        return status::failed;
    }
    if (batch_waits())
        return status::blocked;
    newest_.reset();
    control_in_batch_ = false;
    if (encodes_queue_format_)
        batch_.reset(); // seldom needed again
    return status::idle;
}

// What of the queue the batch has written, or need not write.
void outbound::let_go_of_written() noexcept
{
    const std::uint64_t sent = from_.queue.send_position();
    if (batch_->position_written() > sent)
        from_.queue.sent(static_cast<std::size_t>(batch_->position_written() - sent));
}

// Can the bytes of the queue be written as they lie there?
bool outbound::passes_queue() const noexcept
{
    return encodes_queue_format_ &&
           (!wire_ || !wire_->filter || wire_->filter->passes_all(from_.queue.send_position()));
}

// Encodes the next message of the queue; false if there is none. The queue has whole frames: with
// such a wire nothing is written past it.
bool outbound::encode_message(base::byte_queue::lookahead& ahead, frame_encoder& to)
{
    bool more = true;
    bool any = false;
    while (more && ahead.load()) {
        any = true;
        const queued_header at = next_header(ahead);
        to.put({at.header.flags,
                {ahead.begin(), static_cast<std::size_t>(at.header.body_bytes)},
                at.is_body_apart ? ahead.head().owner : nullptr,
                at.position});
        ahead.consume(static_cast<std::size_t>(at.header.body_bytes));
        more = (at.header.flags & zmtp3::flag_more) != 0;
    }
    return any;
}

// The same for a message that replaces others.
void outbound::encode_newest(frame_encoder& to)
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

// Fills the batch with what there is.
outbound::status outbound::encode_batch() noexcept
{
    drop_void_rest();
    try {
        if (!batch_)
            batch_ = std::make_unique<write_batch>();
        frame_encoder encoder(*wire_, *batch_);
        auto ahead = from_.queue.look_behind_send_cursor();
        batch_->begin_at(ahead.position());
        encoder.put_own(control_);
        control_in_batch_ = batch_waits();
        control_.clear();
        while (!rest_is_void_ && !batch_->full() && encode_message(ahead, encoder)) {
            batch_->end_message(ahead.position());
            count_taken(ahead.position());
        }
        if (!batch_waits())
            encode_newest(encoder);
        if (encoder.failed()) {
            error_ = EPROTO;
            return status::failed;
        }
    } catch (const std::bad_alloc&) {
        error_ = ENOMEM;
        return status::failed;
    }
    if (!batch_waits())
        let_go_of_written();
    return status::idle;
}

outbound::outcome outbound::drain_locked(int batches)
{
    outcome result;
    if (!to_) {
        result.state = status::detached;
        return result;
    }
    base::byte_queue& queue = from_.queue;
    for (;;) {
        if (!control_.empty() && staged_.empty() && !newest_ && !batch_waits() &&
            encodes_queue_format_ && queue.at_boundary() && !rest_expected_) {
            staged_.swap(control_);
            staged_sent_ = 0;
        }
        if (!staged_.empty()) {
            result.state = write_staged();
            if (result.state != status::idle)
                break;
            continue; // more control frames may have come meanwhile
        }
        if (batch_waits()) {
            result.state = write_batch_now();
            if (result.state != status::idle)
                break;
            continue; // a control frame may be waiting for this boundary
        }
        if (newest_) {
            result.state = write_newest();
            if (result.state != status::idle)
                break;
            continue; // the same
        }
        if (!passes_queue()) {
            if (batches == 0 && (queue.published_position() != queue.send_position() ||
                                 from_.newest.filled() || !control_.empty())) {
                result.state = status::pending;
                break;
            }
            result.state = encode_batch();
            if (result.state == status::failed)
                break;
            if (batch_waits()) {
                --batches;
                continue;
            }
            if (holds_ && (result.state = flush()) != status::idle)
                break;
            result.wake_producer |= from_.flow.report();
            if (on_duty_) {
                result.state = status::written;
                break;
            }
            if (queue.sleep() && !(from_.newest.filled() && queue.wake()))
                break;
            continue;
        }
        drop_void_rest();
        iovec entries[batch_entries];
        base::byte_queue::batch batch;
        if (!rest_is_void_) // else the rest comes first, and is still to be committed
            batch = queue.gather(entries, control_.empty() ? batch_entries : 1, batch_bytes);
        if (batch.count == 0) {
            if (from_.newest.filled()) {
                if (batches-- == 0) {
                    result.state = status::pending;
                    break;
                }
                newest_ = from_.newest.take();
                newest_sent_ = 0;
                continue;
            }
            if (holds_ && (result.state = flush()) != status::idle)
                break;
            result.wake_producer |= from_.flow.report();
            if (on_duty_) {
                result.state = status::written;
                break;
            }
            if (queue.sleep() && !(from_.newest.filled() && queue.wake()))
                break;
            continue;
        }
        if (batches-- == 0) {
            result.state = status::pending;
            break;
        }
        counted_until_ = queue.send_position() + batch.bytes;
        result.wake_producer |= from_.flow.set_taken(batch.messages + passed_by_);
        const transport::io_result written = write(entries, static_cast<int>(batch.count));
        if (written.failed()) {
            error_ = written.error;
            result.state = status::failed;
            break;
        }
        queue.sent(written.bytes);
        if (written.bytes != 0)
            rest_expected_ = false; // it was first
        if (written.bytes < batch.bytes) {
            result.state = status::blocked;
            break;
        }
    }
    result.wake_producer |= std::exchange(wake_producer_, false);
    blocked_ = result.state == status::blocked;
    return result;
}

// The rest of a frame whose beginning went to an earlier connection.
void outbound::drop_void_rest()
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

// The message that ends at this position, unless it was counted with a batch.
void outbound::count_taken(std::uint64_t position) noexcept
{
    if (position <= counted_until_)
        return;
    counted_until_ = position;
    // A batch may have been counted together with the newest messages behind it.
    if (from_.flow.taken() < from_.queue.published_messages() + passed_by_)
        wake_producer_ |= from_.flow.add_taken(1);
}

// The first message that was not taken as a whole is to be sent again: finds its beginning.
void outbound::return_to_message_start() noexcept
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

} // namespace zlink::engine
