// SPDX-License-Identifier: Apache-2.0
#include "base/queue/byte_queue.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace zlink::base {

byte_queue::~byte_queue()
{
    for (segment* s = head_; s;) {
        segment* next = s->next.load(std::memory_order_relaxed);
        free_segment(s);
        s = next;
    }
    free_list(returned_bare_.take_all());
    free_list(returned_with_chunk_.take_all());
    free_list(spare_bare_);
    free_list(spare_with_chunk_);
    if (chunk_)
        chunk_->drop_reference();
}

void byte_queue::free_segment(segment* unused) noexcept
{
    if (unused->owner)
        unused->owner->drop_reference();
    if (unused == &root_)
        unused->owner = nullptr;
    else
        delete unused;
}

void byte_queue::free_list(segment* first) noexcept
{
    while (first) {
        segment* next = first->next.load(std::memory_order_relaxed);
        free_segment(first);
        first = next;
    }
}

// --- producer ----------------------------------------------------------------------------------

byte_queue::segment* byte_queue::take_bare() noexcept
{
    if (!spare_bare_)
        spare_bare_ = returned_bare_.take_all();
    if (!spare_bare_)
        return new (std::nothrow) segment;
    segment* s = spare_bare_;
    spare_bare_ = s->next.load(std::memory_order_relaxed);
    return s;
}

// The memory in the rotation: three quarters of what may be under way, which a backlog would need
// anyway.
std::size_t byte_queue::rotating_bytes() const noexcept
{
    const std::uint64_t messages = rotating_messages_.load(std::memory_order_relaxed);
    const std::uint64_t each = messages_ ? committed_position_ / messages_ : 0;
    if (messages == 0 || each == 0)
        return 0;
    return messages > tuning::queue::max_rotating_bytes / each ? tuning::queue::max_rotating_bytes
                                                               : messages * each * 3 / 4;
}

byte_queue::segment* byte_queue::take_with_rotating_chunk() noexcept
{
    segment* const s = take_bare();
    if (!s)
        return nullptr;
    const std::uint64_t under_way =
        committed_position_ - released_position_.load(std::memory_order_relaxed);
    const std::size_t rotating = rotating_bytes();
    s->owner = allocate_rotating_buffer(rotating > under_way ? rotating - under_way : 0);
    if (!s->owner) {
        free_segment(s);
        return nullptr;
    }
    return s;
}

byte_queue::segment* byte_queue::take_with_chunk(std::size_t bytes) noexcept
{
    if (rotating_messages_.load(std::memory_order_relaxed) != 0 &&
        bytes <= tuning::queue::max_chunk_bytes &&
        next_chunk_bytes_ == tuning::queue::max_chunk_bytes)
        return take_with_rotating_chunk();
    if (next_chunk_bytes_ == tuning::queue::first_chunk_bytes &&
        ++chunks_of_size_ > tuning::queue::first_chunks) {
        next_chunk_bytes_ = tuning::queue::min_kept_chunk_bytes;
        chunks_of_size_ = 0;
    }
    if (!spare_with_chunk_) {
        spare_with_chunk_ = returned_with_chunk_.take_all();
        returned_chunks_.store(0, std::memory_order_relaxed);
    }
    while (spare_with_chunk_) {
        segment* s = spare_with_chunk_;
        spare_with_chunk_ = s->next.load(std::memory_order_relaxed);
        if (s->owner->capacity_bytes >= bytes && s->owner->capacity_bytes >= next_chunk_bytes_ / 2)
            return s;
        free_segment(s); // from a time of smaller chunks
    }
    segment* s = take_bare();
    if (!s)
        return nullptr;
    s->owner = allocate_buffer(std::max(bytes, next_chunk_bytes_));
    if (!s->owner)
        s->owner = allocate_buffer(bytes); // may be certain to be there
    if (!s->owner) {
        free_segment(s);
        return nullptr;
    }
    // Two are enough where one is read while the other is written. If a third is needed, more is
    // under way than fits into two.
    if (next_chunk_bytes_ != tuning::queue::first_chunk_bytes &&
        ++chunks_of_size_ > tuning::queue::kept_chunks) {
        next_chunk_bytes_ = std::min(next_chunk_bytes_ * 2, tuning::queue::max_chunk_bytes);
        chunks_of_size_ = 0;
    }
    return s;
}

void byte_queue::seal_tail() noexcept
{
    if (!tail_open_)
        return;
    const std::uint64_t position = tail_position();
    tail_->messages_at_end = messages_;
    tail_->ends_message = tail_ == committed_tail_ && write_ == committed_write_;
    tail_->end.store(position, std::memory_order_relaxed);
    tail_open_ = false;
}

// Makes `view`, whose owner is set, the open tail with its first byte at `at`.
void byte_queue::open_tail(segment* view, std::byte* at) noexcept
{
    const std::uint64_t position = tail_position();
    seal_tail();
    view->data = write_ = at;
    view->start = position;
    view->is_body = view->is_continuation = view->ends_message = view->is_shared = false;
    view->next.store(nullptr, std::memory_order_relaxed);
    view->end.store(open_end, std::memory_order_relaxed);
    tail_->next.store(view, std::memory_order_release);
    tail_ = view;
    tail_open_ = true;
}

// The stream goes on in memory of the queue's own.
std::byte* byte_queue::reserve_behind_shared(std::size_t bytes) noexcept
{
    const bool fits = chunk_ && static_cast<std::size_t>(own_end_ - own_write_) >= bytes;
    segment* const view = fits ? take_bare() : take_with_chunk(bytes);
    if (!view)
        return nullptr;
    if (fits) {
        chunk_->add_reference();
        view->owner = chunk_;
        open_tail(view, own_write_);
        chunk_end_ = own_end_;
    } else {
        buffer* const chunk = view->owner;
        chunk->add_reference();
        open_tail(view, chunk->data);
        if (chunk_)
            chunk_->drop_reference();
        chunk_ = chunk;
        chunk_end_ = chunk->data + chunk->capacity_bytes;
    }
    tail_shared_ = false;
    return write_;
}

bool byte_queue::append_shared(buffer* chunk, std::byte* at, std::size_t bytes) noexcept
{
    if (!tail_shared_ || write_ != at || tail_->owner != chunk) {
        segment* const view = take_bare();
        if (!view)
            return false;
        if (!tail_shared_) {
            own_write_ = write_;
            own_end_ = chunk_end_;
        }
        chunk->add_reference();
        view->owner = chunk;
        open_tail(view, at);
        view->is_shared = true;
        tail_shared_ = true;
    }
    write_ += bytes;
    chunk_end_ = write_; // nothing may be written there
    return true;
}

// Nothing has been appended so far.
std::byte* byte_queue::reserve_first(std::size_t bytes) noexcept
{
    buffer* const chunk = allocate_buffer(std::max(bytes, next_chunk_bytes_));
    if (!chunk)
        return nullptr;
    ++chunks_of_size_;
    chunk->add_reference();
    root_.owner = chunk_ = chunk;
    root_.data = write_ = committed_write_ = chunk->data;
    root_.end.store(open_end, std::memory_order_relaxed);
    chunk_end_ = chunk->data + chunk->capacity_bytes;
    tail_open_ = true;
    return write_;
}

std::byte* byte_queue::reserve_slow(std::size_t bytes, std::size_t keep) noexcept
{
    if (tail_shared_)
        return reserve_behind_shared(bytes);
    if (tail_ == &root_ && !root_.data)
        return reserve_first(bytes);
    if (!tail_open_ && chunk_ && room() >= bytes) {
        // Behind a body: the stream goes on in the same chunk.
        segment* view = take_bare();
        if (!view)
            return nullptr;
        chunk_->add_reference();
        view->owner = chunk_;
        open_tail(view, write_);
        return write_;
    }
    segment* fresh = take_with_chunk(bytes);
    if (!fresh)
        return nullptr;
    buffer* const chunk = fresh->owner;
    if (keep)
        std::memcpy(chunk->data, write_, keep);
    chunk->add_reference();
    if (tail_is_untouched()) {
        // The consumer has not come here yet: give the segment other memory.
        std::swap(tail_->owner, fresh->owner);
        tail_->data = write_ = chunk->data;
        if (tail_ == committed_tail_)
            committed_write_ = write_;
        free_segment(fresh);
    } else {
        open_tail(fresh, chunk->data);
    }
    if (chunk_)
        chunk_->drop_reference();
    chunk_ = chunk;
    chunk_end_ = chunk->data + chunk->capacity_bytes;
    return write_;
}

bool byte_queue::skip(std::size_t bytes) noexcept
{
    if (tail_is_untouched()) {
        tail_->data = write_ += bytes;
        if (tail_ == committed_tail_)
            committed_write_ = write_;
        return true;
    }
    segment* view = take_bare();
    if (!view)
        return false;
    chunk_->add_reference();
    view->owner = chunk_;
    open_tail(view, write_ + bytes);
    return true;
}

bool byte_queue::prepare_append() noexcept
{
    if (spare_bare_)
        return true;
    segment* const spare = take_bare();
    if (!spare)
        return false;
    spare->next.store(std::exchange(spare_bare_, spare), std::memory_order_relaxed);
    return true;
}

bool byte_queue::append(buffer* owner, const std::byte* data, std::size_t bytes,
                        bool continuation) noexcept
{
    segment* body = take_bare();
    if (!body)
        return false;
    std::byte* const resume_at = tail_shared_ ? own_write_ : write_;
    body->owner = owner;
    open_tail(body, const_cast<std::byte*>(data));
    body->is_body = true;
    body->is_continuation = continuation;
    body->messages_at_end = messages_;
    body->end.store(body->start + bytes, std::memory_order_relaxed);
    tail_open_ = false;
    write_ = resume_at;
    if (std::exchange(tail_shared_, false))
        chunk_end_ = own_end_;
    return true;
}

void byte_queue::close_body(std::uint64_t messages) noexcept
{
    if (tail_ == committed_tail_)
        return; // nothing new: the consumer may own the segment already
    tail_->messages_at_end = messages_ + messages;
    tail_->ends_message = true;
}

void byte_queue::rollback() noexcept
{
    if (tail_ == committed_tail_) {
        if (tail_open_)
            write_ = committed_write_;
        return;
    }
    if (tail_open_ && !tail_shared_ && tail_->start == committed_position_) {
        write_ = tail_->data; // nothing but the tail is new: it stays, empty
        return;
    }
    segment* dropped = committed_tail_->next.load(std::memory_order_relaxed);
    const std::uint64_t position = committed_position_;
    if (committed_tail_->end.load(std::memory_order_relaxed) > position) {
        committed_tail_->ends_message = true;
        committed_tail_->messages_at_end = messages_;
        committed_tail_->end.store(position, std::memory_order_relaxed);
    }
    committed_tail_->next.store(nullptr, std::memory_order_relaxed);
    tail_ = committed_tail_;
    tail_open_ = false;
    while (dropped) {
        segment* next = dropped->next.load(std::memory_order_relaxed);
        free_segment(dropped);
        dropped = next;
    }
    // The rest of the current chunk is given up: rollbacks are rare, and its views are gone.
    if (chunk_)
        chunk_->drop_reference();
    chunk_ = nullptr;
    write_ = chunk_end_ = committed_write_ = nullptr;
    tail_shared_ = false;
}

// --- consumer ----------------------------------------------------------------------------------

void byte_queue::return_stack::push(segment* passed) noexcept
{
    segment* first = first_.load(std::memory_order_relaxed);
    do
        passed->next.store(first, std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(first, passed, std::memory_order_release,
                                         std::memory_order_relaxed));
}

void byte_queue::release(segment* passed) noexcept
{
    released_position_.store(passed->end.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    if (passed->owner) {
        if (!passed->is_body && !passed->is_shared && passed->owner->unique() &&
            passed->owner->size_class != buffer::rotating &&
            returned_chunks_.load(std::memory_order_relaxed) < tuning::queue::kept_chunks) {
            returned_chunks_.fetch_add(1, std::memory_order_relaxed);
            returned_with_chunk_.push(passed);
            return;
        }
        passed->owner->drop_reference();
        passed->owner = nullptr;
    }
    returned_bare_.push(passed);
}

// The owner of a body may wait for its memory: it goes back at once, not with the next message.
void byte_queue::release_finished_body() noexcept
{
    if (head_->is_body && head_->owner) {
        head_->owner->drop_reference();
        head_->owner = nullptr;
    }
}

void byte_queue::consume_body() noexcept
{
    read_ = read_end_;
    release_finished_body();
}

// When the consumer sees the first published bytes, both of its cursors get their place.
void byte_queue::set_first_cursors() noexcept
{
    if (!read_) [[unlikely]]
        read_ = read_end_ = head_->data;
    if (!send_at_) [[unlikely]]
        send_at_ = send_->data;
}

bool byte_queue::load_slow() noexcept
{
    for (;;) {
        const std::uint64_t position = read_position();
        if (position == limit_) {
            limit_ = published_position();
            if (position == limit_)
                return false;
        }
        set_first_cursors();
        const std::uint64_t end = head_->end.load(std::memory_order_relaxed);
        if (position == end) {
            segment* next = head_->next.load(std::memory_order_acquire);
            release(head_);
            head_ = send_ = next;
            read_ = read_end_ = send_at_ = next->data;
            continue;
        }
        read_end_ = read_ + (std::min(limit_, end) - position);
        return true;
    }
}

byte_queue::batch byte_queue::gather(iovec* out, std::size_t entries, std::size_t bytes) noexcept
{
    batch result;
    limit_ = published_position();
    const std::uint64_t all_messages = published_messages();
    if (limit_ != 0)
        set_first_cursors();
    segment* at = send_;
    const std::byte* from = send_at_;
    std::uint64_t position = send_position();
    while (position != limit_ && result.count < entries && result.bytes < bytes) {
        const std::uint64_t end = at->end.load(std::memory_order_relaxed);
        if (position == end) {
            at = at->next.load(std::memory_order_acquire);
            from = at->data;
            continue;
        }
        const std::uint64_t until = std::min(limit_, end);
        const std::size_t length = static_cast<std::size_t>(until - position);
        out[result.count++] = {const_cast<std::byte*>(from), length};
        result.bytes += length;
        from += length;
        position = until;
        result.messages = position == limit_ ? all_messages : at->messages_at_end;
    }
    return result;
}

void byte_queue::release_until(segment* keep) noexcept
{
    while (head_ != keep) {
        segment* next = head_->next.load(std::memory_order_acquire);
        release(head_);
        head_ = next;
    }
}

void byte_queue::sent(std::size_t bytes) noexcept
{
    while (bytes) {
        const std::uint64_t position = send_position();
        const std::uint64_t end = send_->end.load(std::memory_order_relaxed);
        if (position == end) {
            segment* next = send_->next.load(std::memory_order_acquire);
            const bool boundary = send_->ends_message;
            send_ = next;
            send_at_ = next->data;
            if (boundary) {
                release_until(send_);
                read_ = read_end_ = send_at_;
            }
            continue;
        }
        const std::size_t step =
            static_cast<std::size_t>(std::min<std::uint64_t>(bytes, end - position));
        send_at_ += step;
        bytes -= step;
    }
    const std::uint64_t position = send_position();
    // Looked at only where all of the segment is published.
    const auto at_end = [&] { return position == send_->end.load(std::memory_order_relaxed); };
    if (position == limit_ || (at_end() && send_->ends_message)) {
        release_until(send_);
        read_ = read_end_ = send_at_;
        if (at_end())
            release_finished_body();
    }
}

void byte_queue::unsend() noexcept
{
    send_ = head_;
    send_at_ = read_;
}

bool byte_queue::lookahead::load() noexcept
{
    while (at_ == end_) {
        const std::uint64_t at = position();
        if (at == limit_)
            return false;
        const std::uint64_t end = segment_->end.load(std::memory_order_relaxed);
        if (at == end) {
            segment_ = segment_->next.load(std::memory_order_acquire);
            at_ = end_ = segment_->data;
            continue;
        }
        end_ = at_ + (std::min(limit_, end) - at);
    }
    return true;
}

byte_queue::lookahead byte_queue::look_behind_send_cursor() noexcept
{
    limit_ = published_position();
    if (limit_ != 0)
        set_first_cursors();
    return {send_, send_at_, limit_};
}

byte_queue::lookahead byte_queue::look_behind_read_cursor() noexcept
{
    limit_ = published_position();
    if (limit_ != 0)
        set_first_cursors();
    return {head_, read_, limit_};
}

std::uint64_t byte_queue::skip_to_border() noexcept
{
    if (at_boundary())
        return 0;
    limit_ = published_position();
    std::uint64_t messages = published_messages();
    for (std::uint64_t position = send_position(); position != limit_; position = send_position()) {
        const std::uint64_t end = send_->end.load(std::memory_order_relaxed);
        if (position != end) {
            send_at_ += std::min(end, limit_) - position;
            continue;
        }
        const segment* const passed = send_;
        send_ = passed->next.load(std::memory_order_acquire);
        send_at_ = send_->data;
        if (passed->ends_message) {
            messages = passed->messages_at_end;
            break;
        }
    }
    release_until(send_);
    read_ = read_end_ = send_at_;
    if (send_position() == send_->end.load(std::memory_order_relaxed))
        release_finished_body();
    return messages;
}

} // namespace zlink::base
