// SPDX-License-Identifier: Apache-2.0
#include "base/queue/queue_producer.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>
#include <utility>

namespace zlink::base {

void queue_producer::free_all(segment* first) noexcept
{
    for (segment* const list : {first, returned_.take_bare(), returned_.take_with_chunk(),
                                spare_bare_, spare_with_chunk_})
        queue_segment::free_list(list);
    if (chunk_)
        chunk_->drop_reference();
}

queue_producer::segment* queue_producer::take_bare() noexcept
{
    if (!spare_bare_)
        spare_bare_ = returned_.take_bare();
    if (!spare_bare_)
        return new (std::nothrow) segment;
    segment* s = spare_bare_;
    spare_bare_ = s->next.load(std::memory_order_relaxed);
    return s;
}

// The memory in the rotation: three quarters of what may be under way, which a backlog would need
// anyway.
std::size_t queue_producer::rotating_bytes() const noexcept
{
    const std::uint64_t messages = rotating_messages_.load(std::memory_order_relaxed);
    const std::uint64_t each = messages_ ? committed_position_ / messages_ : 0;
    if (messages == 0 || each == 0)
        return 0;
    return messages > tuning::queue::max_rotating_bytes / each ? tuning::queue::max_rotating_bytes
                                                               : messages * each * 3 / 4;
}

queue_producer::segment* queue_producer::take_with_rotating_chunk() noexcept
{
    segment* const s = take_bare();
    if (!s)
        return nullptr;
    const std::uint64_t under_way = committed_position_ - returned_.end_position();
    const std::size_t rotating = rotating_bytes();
    s->owner = allocate_rotating_buffer(rotating > under_way ? rotating - under_way : 0);
    if (!s->owner) {
        queue_segment::free(s);
        return nullptr;
    }
    return s;
}

queue_producer::segment* queue_producer::take_with_chunk(std::size_t bytes) noexcept
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
    if (!spare_with_chunk_)
        spare_with_chunk_ = returned_.take_with_chunk();
    while (spare_with_chunk_) {
        segment* s = spare_with_chunk_;
        spare_with_chunk_ = s->next.load(std::memory_order_relaxed);
        if (s->owner->capacity_bytes >= bytes && s->owner->capacity_bytes >= next_chunk_bytes_ / 2)
            return s;
        queue_segment::free(s); // from a time of smaller chunks
    }
    segment* s = take_bare();
    if (!s)
        return nullptr;
    s->owner = allocate_buffer(std::max(bytes, next_chunk_bytes_));
    if (!s->owner)
        s->owner = allocate_buffer(bytes); // may be certain to be there
    if (!s->owner) {
        queue_segment::free(s);
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

void queue_producer::seal_tail() noexcept
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
void queue_producer::open_tail(segment* view, std::byte* at) noexcept
{
    const std::uint64_t position = tail_position();
    seal_tail();
    view->data = write_ = at;
    view->start = position;
    view->is_body = view->is_continuation = view->ends_message = view->is_shared = false;
    view->next.store(nullptr, std::memory_order_relaxed);
    view->end.store(segment::open_end, std::memory_order_relaxed);
    tail_->next.store(view, std::memory_order_release);
    tail_ = view;
    tail_open_ = true;
}

// The stream goes on in memory of the queue's own.
std::byte* queue_producer::reserve_behind_shared(std::size_t bytes) noexcept
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

bool queue_producer::append_shared(buffer* chunk, std::byte* at, std::size_t bytes) noexcept
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
std::byte* queue_producer::reserve_first(std::size_t bytes) noexcept
{
    buffer* const chunk = allocate_buffer(std::max(bytes, next_chunk_bytes_));
    if (!chunk)
        return nullptr;
    ++chunks_of_size_;
    chunk->add_reference();
    tail_->owner = chunk_ = chunk;
    tail_->data = write_ = committed_write_ = chunk->data;
    tail_->end.store(segment::open_end, std::memory_order_relaxed);
    chunk_end_ = chunk->data + chunk->capacity_bytes;
    tail_open_ = true;
    return write_;
}

std::byte* queue_producer::reserve_slow(std::size_t bytes, std::size_t keep) noexcept
{
    if (tail_shared_)
        return reserve_behind_shared(bytes);
    if (tail_->is_root && !tail_->data)
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
        queue_segment::free(fresh);
    } else {
        open_tail(fresh, chunk->data);
    }
    if (chunk_)
        chunk_->drop_reference();
    chunk_ = chunk;
    chunk_end_ = chunk->data + chunk->capacity_bytes;
    return write_;
}

bool queue_producer::skip(std::size_t bytes) noexcept
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

bool queue_producer::prepare_append() noexcept
{
    if (spare_bare_)
        return true;
    segment* const spare = take_bare();
    if (!spare)
        return false;
    spare->next.store(std::exchange(spare_bare_, spare), std::memory_order_relaxed);
    return true;
}

bool queue_producer::append(buffer* owner, const std::byte* data, std::size_t bytes,
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

void queue_producer::close_body(std::uint64_t messages) noexcept
{
    if (tail_ == committed_tail_)
        return; // nothing new: the consumer may own the segment already
    tail_->messages_at_end = messages_ + messages;
    tail_->ends_message = true;
}

void queue_producer::rollback() noexcept
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
        queue_segment::free(dropped);
        dropped = next;
    }
    // The rest of the current chunk is given up: rollbacks are rare, and its views are gone.
    if (chunk_)
        chunk_->drop_reference();
    chunk_ = nullptr;
    write_ = chunk_end_ = committed_write_ = nullptr;
    tail_shared_ = false;
}

} // namespace zlink::base
