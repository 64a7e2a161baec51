// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/queue_source.hpp"

#include "base/tuning.hpp"

#include <algorithm>

namespace zlink::engine {

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

// --- bytes as they lie in the queue

bool queue_source::waits() noexcept
{
    iovec first[1];
    return drop_void_rest() &&
           from_.queue.gather(first, 1, tuning::writing::listed_bytes).count != 0;
}

std::size_t queue_source::next(std::span<iovec> entries, std::size_t& bytes) noexcept
{
    if (!drop_void_rest())
        return 0;
    const auto listed =
        from_.queue.gather(entries.data(), entries.size(), tuning::writing::listed_bytes);
    count_listed(listed);
    bytes += listed.bytes;
    return listed.count;
}

// --- what was taken

// A batch may have been counted together with the newest messages behind it.
void queue_source::count_taken(std::uint64_t position, std::uint64_t messages) noexcept
{
    if (is_counted(position))
        return;
    counted_until_ = position;
    const std::uint64_t taken = from_.credit.taken();
    const std::uint64_t most = from_.queue.published_messages() + passed_by_;
    if (taken < most)
        wake_producer_ |= from_.credit.add_taken(std::min(messages, most - taken));
}

void queue_source::count_listed(const base::byte_queue::batch& listed) noexcept
{
    if (listed.count == 0)
        return;
    counted_until_ = from_.queue.send_position() + listed.bytes;
    wake_producer_ |= from_.credit.set_taken(listed.messages + passed_by_);
}

// --- past the queue

bool queue_source::list_all(std::span<iovec> entries, base::byte_queue::batch& all) noexcept
{
    const bool no_rest = drop_void_rest();
    all = from_.queue.gather(entries.data(), entries.size(), tuning::writing::listed_bytes);
    return no_rest && from_.queue.send_position() + all.bytes == from_.queue.published_position();
}

void queue_source::passed_by(std::size_t queued, std::size_t message, std::size_t taken) noexcept
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

void queue_source::count_passed_by() noexcept
{
    from_.credit.add_sent(1);
    wake_producer_ |= from_.credit.add_taken(1);
    wake_producer_ |= from_.credit.report(); // nothing is queued behind it
    ++passed_by_;
}

bool queue_source::drop_void_rest() noexcept
{
    base::byte_queue& queue = from_.queue;
    if (!rest_is_void_)
        return true;
    if (!queue.at_boundary() || !queue.load())
        return false;
    rest_is_void_ = false;
    if (queue.head().is_continuation) {
        queue.consume_body();
        count_taken(queue.read_position());
    }
    queue.unsend();
    return true;
}

// --- the end of a connection

void queue_source::end(bool plain_bytes) noexcept
{
    if (plain_bytes)
        wake_producer_ |= from_.credit.set_taken(from_.queue.skip_to_border() + passed_by_);
    else
        return_to_message_start();
    rest_is_void_ |= std::exchange(rest_expected_, false);
    drop_void_rest();
}

// The first message that was not taken as a whole is to be sent again: finds its beginning.
void queue_source::return_to_message_start() noexcept
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

void queue_source::discard() noexcept
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
    wake_producer_ |= from_.credit.set_taken(queue.published_messages() + passed_by_);
}

} // namespace zlink::engine
