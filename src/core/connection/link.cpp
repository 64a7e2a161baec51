// SPDX-License-Identifier: Apache-2.0
#include "core/connection/link.hpp"

#include "base/tuning.hpp"

namespace zlink::core {

// --- outlet: the sending thread ----------------------------------------------------------------

// A thread waits a moment for a connection that takes no more. One of many that get the same
// messages must not slow down the others.
writer::stalls link::stalls() const noexcept
{
    if (shared_->connections < 2)
        return writer::stalls::wait;
    return shared_->sends_to_many ? writer::stalls::leave : writer::stalls::share;
}

// Only commits that were announced are asked about: these found the connection idle.
cadence link::cadence_of_message(flush_list& thread) noexcept
{
    const auto of_thread = [&] { return thread.next_cadence(flush_list::clock::now()); };
    const cadence how = shared_->of_message(of_thread);
    const bool is_lone =
        how == cadence::stream && !shared_->is_to_few() && !thread.is_wide() && lone_.take();
    return is_lone ? cadence::sparse : how;
}

plan link::committed() noexcept
{
    flush_list* const thread = flush_list::of_this_thread();
    link_facts facts{.may_batch = batches_, .is_one_of_many = shared_->is_to_many()};
    auto how = cadence::sparse;
    if (facts.is_one_of_many) {
        facts.has_turn = shared_->takes_turn();
    } else if (thread) {
        how = cadence_of_message(*thread);
        facts.is_wide = thread->is_wide();
    }
    writer_is who = next_writer(writer_is::nobody, how, facts);
    if (who == writer_is::batcher && !out_.begin_batches())
        who = writer_is::io_thread;
    plan next{.who = who};
    switch (who) {
    case writer_is::batcher:
        return join(*thread);
    case writer_is::io_thread:
        if (thread && (facts.is_wide || facts.is_one_of_many))
            thread->handed_over(flush_list::clock::now());
        else if (thread)
            thread->wrote(flush_list::clock::now());
        ask(request::drain);
        return next;
    default:
        next = follow(out_.write_queued(stalls()));
        if (thread)
            thread->wrote(flush_list::clock::now());
        return next;
    }
}

plan link::join(flush_list& thread) noexcept
{
    thread.add(shared_from_this(), thread_.context(), flush_list::clock::now());
    return {.who = writer_is::batcher, .flush_at_bytes = batch_bytes(thread)};
}

// With several batches the clock has to be read in between.
std::size_t link::batch_bytes(const flush_list& thread) noexcept
{
    return thread.has_several() ? tuning::batching::clock_check_bytes
                                : tuning::batching::flush_bytes;
}

plan link::flush(flush_reason why) noexcept
{
    flushes_[static_cast<std::size_t>(why)].add();
    switch (why) {
    case flush_reason::full:
        return write_full_batch();
    case flush_reason::maybe_due:
        if (flush_list* const thread = flush_list::of_this_thread())
            thread->flush_if_due(flush_list::clock::now());
        return {.who = writer_is::batcher, .flush_at_bytes = tuning::batching::clock_check_bytes};
    case flush_reason::large_message:
        return write_backlog();
    case flush_reason::about_to_wait:
        return follow(out_.end_batches(stalls()));
    }
    return {};
}

plan link::write_full_batch() noexcept
{
    const auto now = flush_list::clock::now();
    plan result = follow(out_.write_queued(stalls()));
    if (flush_list* const thread = flush_list::of_this_thread()) {
        thread->wrote_batch(now);
        result.flush_at_bytes = batch_bytes(*thread);
    }
    return result;
}

plan link::write_backlog() noexcept
{
    const auto written = out_.write_backlog(stalls());
    return written ? follow(*written) : plan{};
}

// The I/O thread goes on with what this thread leaves.
plan link::follow(plan written) noexcept
{
    if (written.who == writer_is::io_thread || written.who == writer_is::blocked)
        ask(request::drain);
    return written;
}

outlet::direct_write link::write_direct(const iovec (&message)[2],
                                        base::certain_memory& for_rest) noexcept
{
    flush_list* const thread = flush_list::of_this_thread();
    // Connections of a socket that sends to many at once are no stream to any of them.
    const bool is_alone = shared_->connections < 2 || !shared_->sends_to_many;
    const cadence how = thread && is_alone
                            ? thread->next_cadence(flush_list::clock::now(), message[1].iov_len)
                            : cadence::sparse;
    if (next_writer(writer_is::nobody, how, {}) != writer_is::committer)
        return {};
    const auto written = out_.write_through(message, for_rest, stalls(), how == cadence::bulk);
    plan next = follow(written.next);
    if (thread) {
        thread->wrote_batch(flush_list::clock::now());
        if (written.begins_batches)
            join(*thread);
        next.flush_at_bytes = batch_bytes(*thread);
    }
    return {written.bytes, next};
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

// --- batches: any thread, see flush_list -------------------------------------------------------

// What is left of a batch, and room for the thread that owns the socket now, are for the I/O
// thread.
void link::leave_rest(plan rest) noexcept
{
    if (rest.credit_freed)
        ask(request::tell_of_room);
    follow(rest);
}

bool link::write_batch() noexcept
{
    bool goes_on = false;
    out_.write_batch([&](plan rest, std::uint64_t messages) {
        goes_on = rest.who == writer_is::batcher;
        if (messages != 0)
            lone_.batch_was_due(messages);
        leave_rest(rest);
    });
    return goes_on;
}

void link::write_last() noexcept
{
    out_.write_last([this](plan rest) { leave_rest(rest); });
}

// Both perhaps when the context of this connection is about to go.
void link::leave_to_io_thread() noexcept
{
    out_.while_attached([this] { ask(request::drain); });
}

bool link::request_write() noexcept
{
    return out_.unless_at_work([this] { ask(request::write_for_batcher); });
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
