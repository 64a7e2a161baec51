// SPDX-License-Identifier: Apache-2.0
#include "core/connection/writer.hpp"
#include "base/pace/wait_budget.hpp"
#include "base/rules.hpp"
#include "base/sync/asymmetric_fence.hpp"
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
    set_who(writer_is::io_thread);
    broken_ = 0;
    error_.store(0, std::memory_order_relaxed);
}

bool writer::detach()
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return false;
    to_ = nullptr;
    from_.stalled.store(true, std::memory_order_relaxed);
    holds_ = false;
    if (is_batched())
        from_.queue.recall();
    set_who(writer_is::nobody);
    from_.queue.wake(); // messages wait for the next connection, nobody need be told of them
    out_.end();
    const bool credit_freed = out_.wakes_producer();
    return out_.report() || credit_freed;
}

bool writer::discard()
{
    std::lock_guard lock(mutex_);
    out_.discard();
    const bool credit_freed = out_.wakes_producer();
    return out_.report() || credit_freed;
}

// --- who writes --------------------------------------------------------------------------------

plan writer::drain()
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        const writer_is at_work = who();
        if (at_work == writer_is::committer || at_work == writer_is::batcher)
            return {.who = writer_is::committer};
        lock.lock();
    }
    counts_as_ = &counters_.by_io_thread;
    return write_on_behalf(is_batched());
}

plan writer::send_command(const engine::traffic_command& command)
{
    std::lock_guard lock(mutex_);
    if (!to_)
        return {};
    out_.add_command(command);
    from_.queue.wake();
    counts_as_ = &counters_.by_io_thread;
    if (who() == writer_is::blocked)
        return {.who = writer_is::blocked};
    return write_on_behalf(is_batched());
}

plan writer::write_queued(stalls how)
{
    std::lock_guard lock(mutex_);
    plan result{.who = writer_is::blocked};
    if (who() != writer_is::blocked) {
        const bool batched = is_batched();
        counts_as_ = batched ? &counters_.batches : &counters_.direct;
        if (!batched)
            set_who(writer_is::committer);
        result = write_and_retry(batched ? tuning::batching::batches_per_call : 1, batched, how);
    }
    if (result.who != writer_is::batcher)
        from_.queue.take_recall();
    return result;
}

std::optional<plan> writer::write_backlog(stalls how)
{
    if (how == stalls::leave)
        return std::nullopt;
    std::lock_guard lock(mutex_);
    if (is_batched() || !to_ || from_.queue.consumer_asleep())
        return std::nullopt;
    counts_as_ = &counters_.direct;
    plan result;
    if (!retry(how, [&] { return write_again(result, tuning::batching::batches_per_call, false); }))
        return std::nullopt; // the I/O thread sees to it as before
    set_who(result.who);
    return result;
}

bool writer::begin_batches()
{
    std::lock_guard lock(mutex_);
    if (!to_ || who() == writer_is::blocked || !out_.batches() || !base::has_heavy_fence())
        return false;
    messages_before_ = from_.credit.sent() - 1; // one has just been committed
    set_who(writer_is::batcher);
    return true;
}

plan writer::end_batches(stalls how)
{
    std::lock_guard lock(mutex_);
    from_.queue.take_recall();
    if (!is_batched())
        return {}; // whoever has stopped them sees to the rest
    counts_as_ = &counters_.batches;
    set_who(writer_is::committer);
    return write_and_retry(tuning::batching::batches_per_call, false, how);
}

plan writer::write_for_batcher()
{
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return {.who = writer_is::batcher}; // it is writing
    if (!is_batched())
        return {};
    counts_as_ = &counters_.by_io_thread;
    return write_on_behalf(goes_on_in_batches(new_load()));
}

void writer::write_batch(const std::function<void(plan, std::uint64_t)>& then)
{
    std::lock_guard lock(mutex_);
    plan result;
    std::uint64_t messages = 0;
    if (is_batched()) {
        messages = new_messages();
        new_load(); // the I/O thread counts from here
        counts_as_ = &counters_.batches;
        result = write_on_behalf(messages > 1);
    }
    then(result, messages);
}

bool writer::stop_batches()
{
    std::lock_guard lock(mutex_);
    if (!is_batched())
        return false;
    set_who(writer_is::io_thread);
    from_.queue.announce_recall();
    return true;
}

void writer::write_last(const std::function<void(plan)>& then)
{
    std::lock_guard lock(mutex_);
    counts_as_ = &counters_.batches;
    if (!to_ || who() == writer_is::blocked)
        return;
    const plan result = write_offers(tuning::batching::batches_per_call, is_batched());
    set_who(result.who);
    then(result);
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
    if (to_ && is_batched())
        then();
    return is_batched();
}

// Not the sending thread. `batches_go_on`: if there are batches, and all is written. If they end,
// the sending thread learns of it with its next commit; what it has committed is visible now. They
// end before the rest is written, where that is known: only then the queue falls asleep behind it,
// and the next commit is announced, even by a thread that has taken the recall.
plan writer::write_on_behalf(bool batches_go_on)
{
    const bool batched = is_batched();
    if (batched && !batches_go_on)
        from_.queue.recall();
    const plan result = write_offers(tuning::batching::batches_per_call, batched && batches_go_on);
    if (batched && batches_go_on && result.who != writer_is::batcher)
        from_.queue.recall();
    set_who(result.who);
    return result;
}

// The sending thread: a peer that reads makes room sooner than the I/O thread would be awake.
plan writer::write_and_retry(int batches, bool stays_batcher, stalls how)
{
    plan result = write_offers(batches, stays_batcher);
    if (result.who == writer_is::blocked)
        retry(how, [&] { return write_again(result, batches, stays_batcher); });
    set_who(result.who);
    return result;
}

// One more attempt of a thread that retries. False if the connection still takes no more.
bool writer::write_again(plan& result, int batches, bool stays_batcher)
{
    const plan more = write_offers(batches, stays_batcher);
    result.who = more.who;
    result.credit_freed |= more.credit_freed;
    return more.who != writer_is::blocked;
}

// Calls attempt() until it returns true, or the connection takes nothing for too long. False if it
// was not called, as that has been in vain lately.
template <class Attempt>
bool writer::retry(stalls how, Attempt attempt) noexcept
{
    if (how == stalls::leave)
        return false;
    using step = base::write_retry::step;
    const auto try_again = [&] {
        if (!is_batched()) // only now: who does not retry leaves the connection as it was
            set_who(writer_is::committer);
        counters_.retries.add();
        const std::uint64_t before = counters_.bytes.value();
        if (attempt())
            return step::done;
        return counters_.bytes.value() != before ? step::progress : step::nothing;
    };
    return how == stalls::share ? base::wait_for_one_of_several(stall_, try_again)
                                : stall_.wait(try_again);
}

// --- writing, with the mutex -------------------------------------------------------------------

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

// What the stream has taken and not passed on yet: nobody else would see to it. `nobody` if all has
// gone.
writer_is writer::flush() noexcept
{
    if (broken_ == 0) {
        const base::no_cancellation whole;
        const transport::io_result result = to_->flush();
        if (result.would_block())
            return writer_is::blocked;
        broken_ = result.error;
    }
    if (broken_ != 0)
        return fail(broken_);
    holds_ = false;
    return writer_is::nobody;
}

// The I/O thread ends the connection.
writer_is writer::fail(int error) noexcept
{
    error_.store(error, std::memory_order_relaxed);
    return writer_is::io_thread;
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

bool writer::drained()
{
    std::lock_guard lock(mutex_);
    return out_.all_taken() && !holds_;
}

// Of a message behind `before` other bytes, what is not worth a packet of its own.
std::size_t writer::tail_to_hold(std::size_t before, const iovec (&message)[2]) const noexcept
{
    const std::size_t total = before + message[0].iov_len + message[1].iov_len;
    if (!base::rule_is_on(base::rule::packet_filling) || packet_bytes_ == 0 ||
        total <= packet_bytes_)
        return 0;
    const std::size_t rest = total % packet_bytes_;
    return rest <= std::min(tuning::batching::max_held_tail_bytes, message[1].iov_len) ? rest : 0;
}

// Returns how many bytes of these pieces were written.
std::size_t writer::write_pieces(std::span<iovec> pieces, stalls how) noexcept
{
    std::size_t written = 0;
    const auto write_more = [&] {
        const transport::io_result more = write(pieces.data(), static_cast<int>(pieces.size()));
        written += more.bytes;
        std::size_t bytes = more.bytes;
        while (!pieces.empty() && bytes >= pieces.front().iov_len) {
            bytes -= pieces.front().iov_len;
            pieces = pieces.subspan(1);
        }
        if (bytes != 0)
            pieces.front() = after(pieces.front(), bytes);
        return more.failed() || pieces.empty();
    };
    if (!write_more())
        retry(how, write_more);
    return written;
}

// What was written past the queue has ended. Who sees to what comes next?
plan writer::plan_after_direct_write(bool batches, bool unfinished) noexcept
{
    plan next{.credit_freed = out_.wakes_producer()};
    if (holds_)
        flush(); // an error is told by the next drain()
    if (unfinished || holds_) {
        from_.queue.take_recall();
        next.who = writer_is::io_thread;
    } else if (batches) {
        next.who = writer_is::batcher;
    } else {
        // Nothing is queued, so that cannot fail. With a rest to come, its commit is announced as
        // any other; a broken connection is told by the next drain().
        from_.queue.sleep();
    }
    set_who(next.who);
    return next;
}

writer::direct_write writer::write_through(const iovec (&message)[2],
                                           base::certain_memory& for_rest, stalls how,
                                           bool in_stream)
{
    std::lock_guard lock(mutex_);
    if (!takes_direct_writes())
        return {};
    const bool batched = is_batched();
    counts_as_ = batched ? &counters_.batches : &counters_.direct;
    if (!out_.can_pass_by())
        return write_encoded(message, for_rest, how);
    iovec pieces[tuning::writing::max_pieces];
    base::byte_queue::batch before;
    if (batched ? !out_.list_all(pieces, before) : !from_.queue.wake())
        return {};
    if (!batched)
        set_who(writer_is::committer);
    const std::size_t held =
        batched || (in_stream && base::has_heavy_fence()) ? tail_to_hold(before.bytes, message) : 0;
    const std::size_t total = message[0].iov_len + message[1].iov_len;
    pieces[before.count] = message[0];
    pieces[before.count + 1] = {message[1].iov_base, message[1].iov_len - held};
    out_.begin_listed(before);
    std::size_t written = write_pieces({pieces, before.count + 2}, how);
    const bool begins = !batched && held != 0 && written == before.bytes + total - held;
    if (broken_ != 0) // the caller still has the message, and queues it for the next connection
        written = std::min(written, before.bytes);
    out_.passed_by(before.bytes, total, written);
    if (begins) {
        messages_before_ = from_.credit.sent();
        from_.queue.take_recall(); // of batches that have ended
    }
    direct_write result;
    result.bytes = written - std::min(written, before.bytes);
    result.begins_batches = begins;
    result.next = plan_after_direct_write(batched || begins, false);
    return result;
}

// As the message is encoded, what the connection does not take is kept as it is.
writer::direct_write writer::write_encoded(const iovec (&message)[2],
                                           base::certain_memory& for_rest, stalls how)
{
    const bool batched = is_batched();
    if (!out_.can_encode_past() || (!batched && !from_.queue.wake()))
        return {};
    if (!batched)
        set_who(writer_is::committer);
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
        retry(how, write_more);
    const bool taken = any_written && broken_ == 0;
    direct_write result;
    if (taken) {
        out_.keep_past(for_rest);
        result.bytes = message[0].iov_len + message[1].iov_len;
    } else if (out_.batch_waits()) {
        out_.give_up_past();
    }
    result.next = plan_after_direct_write(batched, taken && (failed || out_.batch_waits()));
    return result;
}

// Writes what there is, `batches` of them at most. `stays_batcher`: the sending thread sees to what
// comes next, and the queue does not fall asleep.
plan writer::write_offers(int batches, bool stays_batcher)
{
    plan result;
    if (!to_)
        return result;
    for (;;) {
        iovec entries[tuning::writing::max_pieces];
        const outgoing::offer next = out_.next(entries, batches > 0);
        if (next.kind == outgoing::offer_kind::bytes) {
            batches -= next.begins;
            const transport::io_result written = write(entries, static_cast<int>(next.count));
            if (written.failed()) {
                result.who = fail(written.error);
                break;
            }
            out_.taken(written.bytes);
            if (written.bytes == next.bytes)
                continue; // a command may be waiting for this boundary
            result.who = writer_is::blocked;
            break;
        }
        if (next.kind != outgoing::offer_kind::nothing) {
            result.who = next.kind == outgoing::offer_kind::failed ? fail(out_.error())
                                                                   : writer_is::io_thread;
            break;
        }
        if (holds_ && (result.who = flush()) != writer_is::nobody)
            break;
        result.credit_freed |= out_.report();
        if (stays_batcher || out_.sleep()) {
            result.who = stays_batcher ? writer_is::batcher : writer_is::nobody;
            break;
        }
    }
    if (result.who == writer_is::blocked) // it may stay so for long
        result.credit_freed |= out_.report();
    result.credit_freed |= out_.wakes_producer();
    return result;
}

} // namespace zlink::core
