// SPDX-License-Identifier: Apache-2.0
#include "base/queue/byte_queue.hpp"

#include <algorithm>

namespace zlink::base {

byte_queue::byte_queue() noexcept : queue_producer(root_)
{
    root_.is_root = true;
}

byte_queue::~byte_queue()
{
    free_all(head_);
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
            give_back(head_);
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
        give_back(head_);
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
