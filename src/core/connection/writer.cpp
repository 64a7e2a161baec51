// SPDX-License-Identifier: Apache-2.0
#include "core/connection/writer.hpp"
#include "base/rules.hpp"
#include "base/system/no_cancellation.hpp"
#include "base/tuning.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace zlink::core {
namespace {

using engine::outgoing;

// What is left of a piece once so many bytes have been taken from it.
iovec after(const iovec& piece, std::size_t bytes) noexcept
{
    bytes = std::min(bytes, piece.iov_len);
    return {static_cast<std::byte*>(piece.iov_base) + bytes, piece.iov_len - bytes};
}

} // namespace

void writer::attach(transport::stream& to, std::span<const std::byte> first, engine::wire how,
                    std::span<const std::byte> opening, std::size_t packet_bytes)
{
    std::lock_guard lock(mutex_);
    out_.begin(first, std::move(how), opening);
    from_.queue.wake(); // no direct write before what is queued has gone
    to_ = &to;
    full_ = false;
    holds_ = false;
    packet_bytes_ = packet_bytes;
    from_.stalled.store(false, std::memory_order_relaxed);
    blocked_ = false;
    broken_ = error_ = 0;
}

bool writer::detach()
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return false;
    to_ = nullptr;
    from_.stalled.store(true, std::memory_order_relaxed);
    blocked_ = false;
    holds_ = false;
    end_ownership_locked();
    from_.queue.wake(); // messages wait for the next connection, nobody need be told of them
    out_.end();
    const bool wake_producer = out_.wakes_producer();
    return out_.report() || wake_producer;
}

bool writer::discard()
{
    std::lock_guard lock(mutex_);
    out_.discard();
    const bool wake_producer = out_.wakes_producer();
    return out_.report() || wake_producer;
}

writer::outcome writer::drain()
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        if (pressing_.load(std::memory_order_relaxed))
            return {status::being_retried, false};
        lock.lock();
    }
    blocked_ = false;
    counts_as_ = &counters_.by_io_thread;
    return drain_from_io_thread();
}

writer::outcome writer::send_command(const engine::traffic_command& command)
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return {status::detached, false};
    out_.add_command(command);
    from_.queue.wake();
    counts_as_ = &counters_.by_io_thread;
    if (blocked_)
        return {status::blocked, false};
    return drain_from_io_thread();
}

void writer::say_farewell(engine::farewell why) noexcept
{
    const base::no_cancellation whole;
    std::lock_guard lock(mutex_);
    if (!to_ || holds_ || broken_ != 0)
        return;
    try {
        const std::vector<std::byte> frame = out_.farewell(why);
        const iovec bytes{const_cast<std::byte*>(frame.data()), frame.size()};
        if (!frame.empty() && to_->write_some(&bytes, 1).bytes != 0)
            to_->flush(); // or not: nobody waits for it
    } catch (const std::bad_alloc&) {
        // Nothing is said then.
    }
}

writer::outcome writer::drain_directly(stalls how)
{
    std::lock_guard lock(mutex_);
    counts_as_ = owns_writing_ ? &counters_.batches : &counters_.direct;
    outcome result;
    if (!blocked_)
        result = drain_pressing(owns_writing_ ? tuning::batching::batches_per_call : 1, how);
    if (result.state != status::written) {
        owns_writing_ = false;
        from_.queue.take_recall();
    }
    return result;
}

writer::outcome writer::relieve(stalls how)
{
    if (how == stalls::leave)
        return {};
    std::lock_guard lock(mutex_);
    outcome result;
    if (owns_writing_ || !to_ || from_.queue.consumer_asleep())
        return result;
    counts_as_ = &counters_.direct;
    const bool pressed = press_on(how, [&] {
        const outcome more = drain_locked(tuning::batching::batches_per_call);
        result.state = more.state;
        result.wake_producer |= more.wake_producer;
        return more.state != status::blocked;
    });
    if (!pressed)
        result.state = status::idle; // the I/O thread sees to it as before
    return result;
}

writer::outcome writer::drain_and_end_ownership(stalls how)
{
    std::lock_guard lock(mutex_);
    const bool was_owner = std::exchange(owns_writing_, false);
    counts_as_ = &counters_.batches;
    from_.queue.take_recall();
    if (!was_owner || blocked_)
        return {}; // whoever has ended the ownership sees to the rest
    return drain_pressing(tuning::batching::batches_per_call, how);
}

// The sending thread: a peer that reads makes room sooner than the I/O thread would be awake.
writer::outcome writer::drain_pressing(int batches, stalls how)
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
bool writer::press_on(stalls how, Attempt attempt) noexcept
{
    if (how == stalls::leave)
        return false;
    using step = base::write_retry::step;
    const bool tried = stall_.wait([&] {
        // Only now: who does not wait leaves the connection to the I/O thread, as it was.
        pressing_.store(true, std::memory_order_relaxed);
        counters_.retries.add();
        const std::uint64_t before = counters_.bytes.value();
        if (attempt())
            return step::done;
        return counters_.bytes.value() != before ? step::progress : step::nothing;
    });
    pressing_.store(false, std::memory_order_relaxed);
    return tried;
}

// What follows a failed write must not reach the peer, even if the stream would take it now: the
// next connection begins with it.
transport::io_result writer::write(const iovec* entries, int count) noexcept
{
    if (broken_ != 0)
        return {.error = broken_};
    const base::no_cancellation whole;
    const transport::io_result result = to_->write_some(entries, count);
    if (result.failed())
        broken_ = result.error;
    counters_.bytes.add(result.bytes);
    if (result.bytes != 0)
        counts_as_->add();
    if (result.bytes != 0 && full_)
        ++times_made_room_;
    full_ = result.bytes < transport::total_bytes(entries, count);
    holds_ = result.more;
    return result;
}

// What the stream has taken and not passed on yet: nobody else would see to it.
writer::status writer::flush() noexcept
{
    if (broken_ == 0) {
        const base::no_cancellation whole;
        const transport::io_result result = to_->flush();
        if (result.would_block())
            return status::blocked;
        broken_ = result.error;
    }
    if (broken_ != 0) {
        error_ = broken_;
        return status::failed;
    }
    holds_ = false;
    return status::idle;
}

std::size_t writer::bytes_on_wire(const engine::traffic_command& command)
{
    std::lock_guard lock(mutex_);
    return out_.bytes_on_wire(command);
}

bool writer::control_waits()
{
    std::lock_guard lock(mutex_);
    return out_.control_waits();
}

engine::sending_progress::state writer::progress()
{
    std::lock_guard lock(mutex_); // nothing is written between one number and the next
    engine::sending_progress::state now;
    now.written_bytes = static_cast<std::int64_t>(counters_.bytes.value());
    now.acknowledged_bytes = now.written_bytes;
    if (to_)
        now.acknowledged_bytes -= static_cast<std::int64_t>(to_->undelivered_bytes());
    now.times_made_room = times_made_room_;
    now.control_waits = out_.control_waits();
    return now;
}

bool writer::begin_ownership()
{
    std::lock_guard lock(mutex_);
    if (!to_ || blocked_ || !out_.batches() || !base::has_heavy_fence())
        return false;
    messages_before_ = from_.credit.sent() - 1; // one has just been committed
    return owns_writing_ = true;
}

// The sending thread will be told with its next commit; what it has committed is visible now.
void writer::end_ownership_locked()
{
    if (std::exchange(owns_writing_, false))
        from_.queue.recall();
}

// The I/O thread, mostly: unless all is written it goes on with what is left, and the ownership of
// the sending thread is over; nobody would look after it while the connection is blocked.
writer::outcome writer::drain_from_io_thread()
{
    const outcome result = drain_locked(tuning::batching::batches_per_call);
    if (result.state != status::written)
        end_ownership_locked();
    return result;
}

writer::outcome writer::write_for_owner()
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return {status::written, false}; // the sending thread is at it
    if (blocked_ || !owns_writing_)
        return {status::idle, false};
    counts_as_ = &counters_.by_io_thread;
    return write_committed_locked(!base::rule_is_on(base::rule::ownership_ends) ||
                                  new_load() >= tuning::batching::min_messages_per_round);
}

void writer::write_committed(const std::function<void(outcome)>& then)
{
    std::lock_guard lock(mutex_);
    outcome result;
    if (!blocked_ && owns_writing_) {
        const std::uint64_t messages = new_messages();
        new_load(); // the I/O thread counts from here
        counts_as_ = &counters_.batches;
        result = write_committed_locked(messages > 1);
        result.messages = messages;
    }
    then(result);
}

// An ownership that does not go on ends before the rest is written: only then the consumer falls
// asleep behind that, and the next commit wakes it, even by a sender that has taken the recall
// back.
writer::outcome writer::write_committed_locked(bool ownership_goes_on)
{
    if (!ownership_goes_on)
        end_ownership_locked();
    return drain_from_io_thread();
}

std::uint64_t writer::new_messages() noexcept
{
    const std::uint64_t sent = from_.credit.sent();
    return sent - std::exchange(messages_before_, sent);
}

std::uint64_t writer::new_load() noexcept
{
    const std::uint64_t load =
        from_.credit.sent() + counters_.bytes.value() / tuning::batching::counted_message_bytes;
    return load - std::exchange(load_before_, load);
}

bool writer::end_ownership()
{
    std::lock_guard lock(mutex_);
    if (!std::exchange(owns_writing_, false))
        return false;
    from_.queue.announce_recall();
    return true;
}

void writer::write_last(const std::function<void(outcome)>& then)
{
    std::lock_guard lock(mutex_);
    counts_as_ = &counters_.batches;
    if (to_ && !blocked_)
        then(drain_locked(tuning::batching::batches_per_call));
}

void writer::while_attached(const std::function<void()>& then)
{
    std::lock_guard lock(mutex_);
    if (to_)
        then();
}

bool writer::unless_at_work(const std::function<void()>& then)
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return true;
    if (to_ && owns_writing_)
        then();
    return owns_writing_;
}

bool writer::drained()
{
    std::lock_guard lock(mutex_);
    return out_.all_taken() && !holds_;
}

// Of a message behind `before` other bytes, what is not worth a packet of its own.
std::size_t writer::rest_for_next(std::size_t before, const iovec (&message)[2]) noexcept
{
    const std::size_t total = before + message[0].iov_len + message[1].iov_len;
    if (!base::rule_is_on(base::rule::packet_filling) || packet_bytes_ == 0 ||
        total <= packet_bytes_)
        return 0;
    const std::size_t rest = total % packet_bytes_;
    return rest <= std::min(tuning::batching::max_held_tail_bytes, message[1].iov_len) ? rest : 0;
}

writer::passed writer::write_through(const iovec (&message)[2], base::certain_memory& for_rest,
                                     stalls how, bool in_stream)
{
    passed result;
    std::lock_guard lock(mutex_);
    counts_as_ = owns_writing_ ? &counters_.batches : &counters_.direct;
    if (!to_ || blocked_ || broken_ != 0)
        return result;
    if (!out_.can_pass_by())
        return write_encoded(message, for_rest, how);
    iovec entries[tuning::writing::max_pieces];
    base::byte_queue::batch before;
    if (owns_writing_) {
        if (!out_.list_all(entries, before))
            return result;
    } else if (!from_.queue.wake()) {
        return result;
    }
    std::size_t rest = owns_writing_ || in_stream ? rest_for_next(before.bytes, message) : 0;
    const bool begins_ownership = !owns_writing_ && rest != 0 && base::has_heavy_fence();
    if (!owns_writing_ && !begins_ownership)
        rest = 0;
    const std::size_t total = message[0].iov_len + message[1].iov_len;
    const std::size_t goal = before.bytes + total - rest;
    entries[before.count] = message[0];
    entries[before.count + 1] = {message[1].iov_base, message[1].iov_len - rest};
    out_.begin_listed(before);
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
    if (broken_ != 0) // the caller still has the message, and queues it for the next connection
        written = std::min(written, before.bytes);
    out_.passed_by(before.bytes, total, written);
    result.bytes = written - std::min(written, before.bytes);
    result.begins_ownership = begins_ownership && written == goal;
    if (result.begins_ownership) {
        owns_writing_ = true;
        messages_before_ = from_.credit.sent();
        from_.queue.take_recall(); // of an ownership that has ended
    }
    if (holds_)
        flush(); // an error is told by the next drain()
    result.unfinished = holds_;
    // Nothing is queued, so going back to sleep cannot fail. With a rest to come the commit of it
    // wakes the consumer as any other; a broken connection is told by the next drain().
    if (!owns_writing_ && !holds_)
        from_.queue.sleep();
    result.wake_producer = out_.wakes_producer();
    return result;
}

// With the mutex. As the message is encoded, what the connection does not take is kept as it is.
writer::passed writer::write_encoded(const iovec (&message)[2], base::certain_memory& for_rest,
                                     stalls how)
{
    passed result;
    if (!out_.can_encode_past() || (!owns_writing_ && !from_.queue.wake()))
        return result;
    const auto bytes_of = [](const iovec& part) {
        return std::span(static_cast<const std::byte*>(part.iov_base), part.iov_len);
    };
    bool failed = !out_.encode_past(bytes_of(message[0]), bytes_of(message[1]));
    bool any_written = false;
    const auto write_more = [&] {
        iovec entries[tuning::writing::max_pieces];
        const auto next = out_.next(entries, false);
        const transport::io_result written = write(entries, static_cast<int>(next.count));
        failed = written.failed();
        any_written |= written.bytes != 0;
        if (!failed)
            out_.taken(written.bytes);
        return failed || !out_.batch_waits();
    };
    if (!failed && !write_more())
        press_on(how, write_more);
    if (any_written && broken_ == 0) {
        out_.keep_past(for_rest);
        result.bytes = message[0].iov_len + message[1].iov_len;
        if (holds_)
            flush(); // an error is told by the next drain()
        result.unfinished = failed || holds_ || out_.batch_waits();
    } else if (out_.batch_waits()) {
        out_.give_up_past();
    }
    if (!owns_writing_ && !result.unfinished)
        from_.queue.sleep(); // nothing is queued: that cannot fail
    result.wake_producer = out_.wakes_producer();
    return result;
}

writer::outcome writer::drain_locked(int batches)
{
    outcome result;
    if (!to_) {
        result.state = status::detached;
        return result;
    }
    for (;;) {
        iovec entries[tuning::writing::max_pieces];
        const outgoing::offer next = out_.next(entries, batches > 0);
        if (next.kind == engine::outgoing::offer_kind::bytes) {
            batches -= next.begins;
            const transport::io_result written = write(entries, static_cast<int>(next.count));
            if (written.failed()) {
                error_ = written.error;
                result.state = status::failed;
                break;
            }
            out_.taken(written.bytes);
            if (written.bytes == next.bytes)
                continue; // a command may be waiting for this boundary
            result.state = status::blocked;
            break;
        }
        if (next.kind == engine::outgoing::offer_kind::pending) {
            result.state = status::pending;
            break;
        }
        if (next.kind == engine::outgoing::offer_kind::failed) {
            error_ = out_.error();
            result.state = status::failed;
            break;
        }
        if (holds_ && (result.state = flush()) != status::idle)
            break;
        result.wake_producer |= out_.report();
        if (owns_writing_) {
            result.state = status::written;
            break;
        }
        if (out_.sleep())
            break;
    }
    blocked_ = result.state == status::blocked;
    if (blocked_) // it may stay so for long
        result.wake_producer |= out_.report();
    result.wake_producer |= out_.wakes_producer();
    return result;
}

} // namespace zlink::core
