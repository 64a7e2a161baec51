// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/write_batch.hpp"

#include "base/tuning.hpp"

#include "base/memory/give_back.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink::engine {
namespace {

// As a vector grows by itself.
template <class T>
void make_room_for(std::size_t more, std::vector<T>& in)
{
    if (in.capacity() - in.size() < more)
        in.reserve(std::max(in.size() + more, in.capacity() * 2));
}

} // namespace

void write_batch::make_room(std::size_t copied_bytes)
{
    constexpr std::size_t most_pieces = 2; // a head and a body
    room_for(copied_bytes);
    make_room_for(most_pieces, pieces_);
    make_room_for(1, ends_);
}

void write_batch::append(std::span<const std::byte> bytes)
{
    if (bytes.empty())
        return;
    std::memcpy(room_for(bytes.size()), bytes.data(), bytes.size());
    append_copied(bytes.size());
}

std::span<std::byte> write_batch::extend(std::size_t bytes)
{
    if (bytes == 0)
        return {};
    std::byte* const at = room_for(bytes);
    append_copied(bytes);
    return {at, bytes};
}

std::span<std::byte> write_batch::reserve(std::size_t bytes)
{
    bytes = std::min(bytes, tuning::writing::encoded_batch_bytes -
                                std::min(bytes_, tuning::writing::encoded_batch_bytes));
    return {room_for(bytes), bytes};
}

void write_batch::advance(std::size_t bytes, std::uint64_t queue_position,
                          std::span<const message_end> messages)
{
    make_room_for(messages.size(), ends_);
    const std::size_t begin = bytes_;
    append_copied(bytes);
    for (const message_end& each : messages)
        ends_.push_back({begin + each.bytes_written, queue_position + each.bytes_read});
}

// The memory of the last batch serves again as it is: vectors would clear what they grow by.
std::byte* write_batch::room_for(std::size_t bytes)
{
    const std::size_t needed = copied_bytes_ + bytes;
    if (copies_.size() < needed)
        copies_.resize(std::max(needed, copied_bytes_ * 2));
    return copies_.data() + copied_bytes_;
}

void write_batch::append_copied(std::size_t bytes)
{
    if (!pieces_.empty() && !pieces_.back().data)
        pieces_.back().bytes += bytes;
    else
        pieces_.push_back({nullptr, bytes, nullptr});
    copied_bytes_ += bytes;
    bytes_ += bytes;
}

void write_batch::append_block(base::buffer_ref block, std::size_t bytes)
{
    pieces_.push_back({block->data, bytes, block.get()});
    block.release();
    bytes_ += bytes;
}

void write_batch::end_message(std::uint64_t queue_position)
{
    if (pieces_.empty())
        position_written_ = queue_position;
    else
        ends_.push_back({bytes_, queue_position});
}

void write_batch::append_body(std::span<const std::byte> body, base::buffer* owner)
{
    if (!refers_to(body, owner))
        return append(body);
    pieces_.push_back({body.data(), body.size(), owner});
    owner->add_reference();
    bytes_ += body.size();
}

void write_batch::append_borrowed(std::span<const std::byte> body)
{
    pieces_.push_back({body.data(), body.size(), nullptr});
    bytes_ += body.size();
}

void write_batch::keep_borrowed(base::certain_memory& room) noexcept
{
    for (std::size_t i = next_; i < pieces_.size(); ++i) {
        piece& at = pieces_[i];
        if (!at.data || at.owner)
            continue;
        const std::size_t written = i == next_ ? std::exchange(next_written_, 0) : 0;
        at.bytes -= written;
        at.owner = room.allocate(at.bytes);
        std::memcpy(at.owner->data, at.data + written, at.bytes);
        at.data = at.owner->data;
        return;
    }
}

bool write_batch::full() const noexcept
{
    return bytes_ >= tuning::writing::encoded_batch_bytes ||
           pieces_.size() >= tuning::writing::max_pieces;
}

std::size_t write_batch::list(std::span<iovec> entries, std::size_t& bytes) const noexcept
{
    std::size_t count = 0;
    const std::byte* copy = copies_.data() + copies_passed_;
    std::size_t written = next_written_;
    for (std::size_t i = next_; i < pieces_.size() && count < entries.size(); ++i) {
        const piece& each = pieces_[i];
        const std::byte* const data = each.data ? each.data : copy;
        if (!each.data)
            copy += each.bytes;
        entries[count++] = {const_cast<std::byte*>(data) + written, each.bytes - written};
        bytes += each.bytes - written;
        written = 0;
    }
    return count;
}

void write_batch::written(std::size_t bytes) noexcept
{
    bytes_written_ += bytes;
    for (; next_end_ < ends_.size() && ends_[next_end_].bytes <= bytes_written_; ++next_end_)
        position_written_ = ends_[next_end_].queue_position;
    while (next_ < pieces_.size()) {
        const piece& at = pieces_[next_];
        const std::size_t step = std::min(bytes, at.bytes - next_written_);
        next_written_ += step;
        bytes -= step;
        if (next_written_ < at.bytes)
            return;
        if (!at.data)
            copies_passed_ += at.bytes;
        release(at);
        ++next_;
        next_written_ = 0;
    }
    clear();
}

void write_batch::clear() noexcept
{
    for (; next_ < pieces_.size(); ++next_)
        release(pieces_[next_]);
    pieces_.clear();
    ends_.clear();
    if (copies_.size() > tuning::writing::kept_batch_bytes)
        base::give_back(copies_);
    copied_bytes_ = bytes_ = bytes_written_ = next_ = next_written_ = copies_passed_ = next_end_ =
        0;
}

} // namespace zlink::engine
