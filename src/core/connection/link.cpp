// SPDX-License-Identifier: Apache-2.0
#include "core/connection/link.hpp"

#include "base/tuning.hpp"

namespace zlink::core {

// --- outlet: the sending thread ----------------------------------------------------------------

// A thread that has no other connection waits a moment for one that takes no more.
writer::stalls link::stalls() const noexcept
{
    return write_policy_.is_only_connection() ? writer::stalls::wait : writer::stalls::leave;
}

plan link::committed() noexcept
{
    burst* const thread = burst::of_this_thread();
    const auto now = burst::clock::now();
    const auto way = thread ? write_policy_.choose(*thread, now) : write_policy::way::at_once;
    switch (way) {
    case write_policy::way::at_once:
        break;
    case write_policy::way::hand_over:
        thread->handed_over(now);
        ask(request::drain);
        return {.who = writer_is::io_thread};
    case write_policy::way::in_batches:
        if (batches_ && out_.begin_ownership())
            return join_burst(*thread);
        thread->wrote(now);
        ask(request::drain);
        return {};
    }
    const plan result = plan_after(out_.drain_directly(stalls()));
    if (thread)
        thread->wrote(burst::clock::now());
    return result;
}

plan link::join_burst(burst& thread) noexcept
{
    thread.add(shared_from_this(), thread_.context(), burst::clock::now());
    return {.who = writer_is::batcher,
            .flush_at_bytes = thread.has_several() ? tuning::batching::clock_check_bytes
                                                   : tuning::batching::flush_bytes};
}

plan link::flush(flush_reason why) noexcept
{
    flushes_[static_cast<std::size_t>(why)].add();
    switch (why) {
    case flush_reason::full:
        return write_full_batch();
    case flush_reason::maybe_due:
        if (burst* const thread = burst::of_this_thread())
            thread->look(burst::clock::now());
        return {.who = writer_is::batcher, .flush_at_bytes = tuning::batching::clock_check_bytes};
    case flush_reason::large_message:
        return write_backlog();
    case flush_reason::about_to_wait:
        return plan_after(out_.drain_and_end_ownership(stalls()));
    }
    return {};
}

plan link::write_full_batch() noexcept
{
    const auto now = burst::clock::now();
    plan result = plan_after(out_.drain_directly(stalls()));
    burst* const thread = burst::of_this_thread();
    if (!thread)
        return result;
    thread->wrote_batch(now);
    if (thread->has_several())
        result.flush_at_bytes = tuning::batching::clock_check_bytes;
    return result;
}

plan link::write_backlog() noexcept
{
    const auto outcome = out_.relieve(stalls());
    if (outcome.state != writer::status::idle)
        ask(request::drain);
    return {.credit_freed = outcome.wake_producer};
}

plan link::plan_after(writer::outcome outcome) noexcept
{
    using status = writer::status;
    plan result{.credit_freed = outcome.wake_producer};
    switch (outcome.state) {
    case status::written:
        result.who = writer_is::batcher;
        break;
    case status::idle:
    case status::detached:
        break;
    case status::pending:
        if (write_policy_.is_one_of_many())
            result.who = writer_is::io_thread;
        [[fallthrough]];
    case status::blocked:
    case status::failed:
        ask(request::drain);
        break;
    case status::being_retried: // only to the I/O thread
        break;
    }
    return result;
}

outlet::direct_write link::write_direct(const iovec (&message)[2],
                                        base::certain_memory& for_rest) noexcept
{
    burst* const thread = burst::of_this_thread();
    const bool in_stream = thread && write_policy_.wants_batches(*thread, burst::clock::now());
    if (in_stream && message[1].iov_len < tuning::batching::min_unbatched_bytes)
        return {};
    const auto passed = out_.write_through(message, for_rest, stalls(), in_stream);
    if (thread)
        thread->wrote_batch(burst::clock::now());
    if (passed.begins_ownership)
        join_burst(*thread);
    if (passed.unfinished)
        ask(request::drain);
    return {passed.bytes, passed.begins_ownership, passed.wake_producer};
}

traffic_counts link::counts() const noexcept
{
    const auto flushes = [this](flush_reason why) {
        return flushes_[static_cast<std::size_t>(why)].value();
    };
    traffic_counts all;
    all.direct_writes = out_.counters().direct.value();
    all.batch_writes = out_.counters().batches.value();
    all.io_writes = out_.counters().by_io_thread.value();
    all.write_retries = out_.counters().retries.value();
    all.written_bytes = out_.counters().bytes.value();
    all.written_messages = channels_.a_to_b.credit.taken();
    all.full_flushes = flushes(flush_reason::full);
    all.age_checks = flushes(flush_reason::maybe_due);
    all.backlog_flushes = flushes(flush_reason::large_message);
    all.wait_flushes = flushes(flush_reason::about_to_wait);
    all.lease_requests = lease_requests_.value();
    all.leases = lease_.grants();
    all.leased_reads = leased_reads_.value();
    all.io_requests = io_requests_.value();
    return all;
}

// --- batches: any thread, see burst ------------------------------------------------------------

// What is left of a batch, and room for the thread that owns the socket now, are for the I/O
// thread.
void link::leave_rest(writer::outcome outcome) noexcept
{
    using status = writer::status;
    if (outcome.wake_producer)
        ask(request::tell_of_room);
    if (outcome.state != status::written && outcome.state != status::idle)
        ask(request::drain);
}

bool link::write_committed() noexcept
{
    bool goes_on = false;
    out_.write_committed([&](writer::outcome outcome) {
        goes_on = outcome.state == writer::status::written;
        if (outcome.messages != 0)
            write_policy_.batch_was_written(outcome.messages);
        leave_rest(outcome);
    });
    return goes_on;
}

void link::write_last() noexcept
{
    out_.write_last([this](writer::outcome outcome) { leave_rest(outcome); });
}

// Both perhaps when the context of this connection is about to go.
void link::leave_to_io_thread() noexcept
{
    out_.while_attached([this] { ask(request::drain); });
}

bool link::request_write_for_owner() noexcept
{
    return out_.unless_at_work([this] { ask(request::write_for_owner); });
}

// --- inlet: the reading thread, see reading_lease ----------------------------------------------

void link::made_room() noexcept
{
    switch (lease_.read_for_room()) {
    case reading_lease::request::none:
        break;
    case reading_lease::request::read:
        ask(request::read);
        break;
    case reading_lease::request::watch:
        ask(request::watch_reading);
        break;
    }
}

void link::ask_to_read() noexcept
{
    if (!lease_.ask())
        return;
    lease_requests_.add();
    ask(request::grant_lease);
}

inlet::leased_read link::read(std::span<std::byte> memory) noexcept
{
    const auto step = lease_.read_leased(memory);
    if (step.read.moved)
        leased_reads_.add();
    if (step.ended)
        ask(request::read);
    return step.read;
}

void link::give_back() noexcept
{
    if (lease_.give_back())
        ask(request::read);
}

} // namespace zlink::core
