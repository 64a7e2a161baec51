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

} // namespace

void outbound::attach(transport::stream& to, std::span<const std::byte> first)
{
    attach(to, first, {});
}

void outbound::attach(transport::stream& to, std::span<const std::byte> first, const encoding& how)
{
    std::lock_guard lock(mutex_);
    from_.queue.wake(); // no direct write before what is queued has gone
    to_ = &to;
    full_ = false;
    packet_bytes_ = unknown_packet;
    from_.stalled.store(false, std::memory_order_relaxed);
    blocked_ = false;
    error_ = 0;
    staged_.assign(first.begin(), first.end());
    staged_sent_ = 0;
    control_.clear();
    encoding_ = how;
    if (encoding_ && !batch_)
        batch_ = std::make_unique<write_batch>();
}

void outbound::detach()
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return;
    to_ = nullptr;
    from_.stalled.store(true, std::memory_order_relaxed);
    blocked_ = false;
    staged_.clear();
    control_.clear();
    if (newest_ && newest_sent_ == 0)
        from_.newest.put_back(std::move(newest_));
    newest_.reset();
    end_duty_locked();
    from_.queue.wake(); // messages wait for the next connection, nobody need be told of them
    if (encoding_)
        batch_->clear();
    else if (encoding_.frames)
        drop_partial_message();
    else
        wake_producer_ |= from_.flow.set_taken(from_.queue.skip_to_border() + passed_by_);
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

outbound::outcome outbound::send_control(std::span<const std::byte> bytes)
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return {status::detached, false};
    if (control_.size() + bytes.size() <= most_control_bytes)
        control_.insert(control_.end(), bytes.begin(), bytes.end());
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
    note_room(result.bytes, transport::total_bytes(entries, count));
    return result;
}

void outbound::note_room(std::size_t written, std::size_t offered) noexcept
{
    bytes_written_ += written;
    if (written != 0 && full_)
        ++times_made_room_;
    full_ = written < offered;
}

bool outbound::control_waits()
{
    std::lock_guard lock(mutex_);
    return !control_.empty() || !staged_.empty();
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
    now.control_waits = !control_.empty() || !staged_.empty();
    return now;
}

bool outbound::begin_duty()
{
    std::lock_guard lock(mutex_);
    if (!to_ || blocked_ || !encoding_.batches || !base::has_heavy_fence())
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
           staged_sent_ == staged_.size() && !batch_waits() && !newest_ && !from_.newest.filled();
}

// Of a message behind `before` other bytes, what is not worth a packet of its own.
std::size_t outbound::left_for_next(std::size_t before, const iovec (&message)[2]) noexcept
{
    if (packet_bytes_ == unknown_packet)
        packet_bytes_ = to_->packet_bytes();
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
    if (!to_ || blocked_ || encoding_ || !control_.empty() || staged_sent_ != staged_.size())
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
    if (!on_duty_)
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
    note_room(result.bytes, result.bytes + batch_waits());
    if (result.failed()) {
        error_ = result.error;
        return status::failed;
    }
    return batch_waits() ? status::blocked : status::idle;
}

// Encodes the next message of the queue; false if there is none. The queue has whole frames: with
// an encoding nothing is written past it.
bool outbound::encode_message()
{
    base::byte_queue& queue = from_.queue;
    bool more = true;
    bool any = false;
    while (more && queue.load()) {
        any = true;
        zmtp3::frame_header header;
        zmtp3::decode_header(queue.read_begin(),
                             static_cast<std::size_t>(queue.read_end() - queue.read_begin()),
                             header);
        const std::uint64_t position = queue.read_position();
        queue.consume(header.header_bytes);
        const bool apart = header.body_bytes != 0 && queue.read_begin() == queue.read_end();
        if (apart)
            queue.load();
        encoding_.translate(*batch_,
                            {header.flags,
                             {queue.read_begin(), static_cast<std::size_t>(header.body_bytes)},
                             apart ? queue.head().owner : nullptr,
                             position},
                            encoding_.context);
        if (apart)
            queue.consume_body();
        else
            queue.consume(header.body_bytes);
        more = (header.flags & zmtp3::flag_more) != 0;
    }
    queue.unsend(); // the other cursor follows
    return any;
}

// The same for a message that replaces others.
void outbound::encode_newest()
{
    const base::buffer_ref newest = from_.newest.take();
    if (!newest)
        return;
    const copied_frame frame = view_frame(*newest.get());
    encoding_.translate(*batch_,
                        {frame.flags, frame.body, newest.get(), from_.queue.published_position()},
                        encoding_.context);
}

// Fills the batch with what there is.
outbound::status outbound::encode_batch() noexcept
{
    drop_void_rest();
    try {
        while (!rest_is_void_ && !batch_->full() && encode_message())
            count_taken();
        if (!batch_waits())
            encode_newest();
    } catch (const std::bad_alloc&) {
        error_ = ENOMEM;
        return status::failed;
    }
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
            (encoding_ || (queue.at_boundary() && !rest_expected_))) {
            staged_.swap(control_);
            staged_sent_ = 0;
        }
        if (!staged_.empty()) {
            result.state = write_staged();
            if (result.state != status::idle)
                break;
            continue; // more control frames may have come meanwhile
        }
        if (newest_) {
            result.state = write_newest();
            if (result.state != status::idle)
                break;
            continue; // a control frame may be waiting for this boundary
        }
        if (batch_waits()) {
            result.state = write_batch_now();
            if (result.state != status::idle)
                break;
            continue; // the same
        }
        if (encoding_) {
            if (batches == 0 &&
                (queue.published_position() != queue.send_position() || from_.newest.filled())) {
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
        count_taken();
    }
    queue.unsend();
}

// The message that ends at read_begin(), unless it was counted with a batch.
void outbound::count_taken() noexcept
{
    const std::uint64_t position = from_.queue.read_position();
    if (position <= counted_until_)
        return;
    counted_until_ = position;
    // A batch may have been counted together with the newest messages behind it.
    if (from_.flow.taken() < from_.queue.published_messages() + passed_by_)
        wake_producer_ |= from_.flow.add_taken(1);
}

// Walks over the frames from the last known boundary to the message that was being written.
void outbound::drop_partial_message()
{
    base::byte_queue& queue = from_.queue;
    const std::uint64_t broken_at = queue.send_position();
    queue.unsend();
    bool in_message = false;
    while ((queue.read_position() < broken_at || in_message) && queue.load()) {
        if (queue.head().is_continuation) {
            queue.consume_body();
            in_message = false;
            count_taken();
            continue;
        }
        zmtp3::frame_header header;
        zmtp3::decode_header(queue.read_begin(),
                             static_cast<std::size_t>(queue.read_end() - queue.read_begin()),
                             header);
        queue.consume(header.header_bytes);
        if (header.body_bytes != 0 && queue.read_begin() == queue.read_end()) {
            queue.load();
            queue.consume_body();
        } else {
            queue.consume(header.body_bytes);
        }
        in_message = (header.flags & zmtp3::flag_more) != 0;
        if (!in_message)
            count_taken();
    }
    queue.unsend();
}

} // namespace zlink::engine
