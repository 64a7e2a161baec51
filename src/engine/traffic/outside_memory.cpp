// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/outside_memory.hpp"

#include "base/tuning.hpp"

#include "base/memory/buffer.hpp"
#include "base/memory/loan.hpp"
#include "engine/codec/zmtp3.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace zlink::engine {
// Only what the consumer comes for next: anything else would have to make way for that.
bool outside_memory::begin(std::size_t body_bytes, std::uint64_t messages, bool in_message,
                           const base::byte_queue& queue) noexcept
{
    in_use_ = body_bytes <= memory_.size() && messages == messages_before_ &&
              comes_for_next_part(in_message, queue);
    return in_use_;
}

// In a stream the body has often begun, with the read that ended the message before.
void outside_memory::begin_with(std::span<const std::byte> begun, std::size_t body_bytes) noexcept
{
    if (in_use_ || envelope_is_taken_off_ || body_bytes > memory_.size() ||
        begun.size() > tuning::placement::max_moved_bytes)
        return;
    std::memcpy(memory_.data(), begun.data(), begun.size());
    in_use_ = true;
}

// Is the part that begins now the first one that the consumer gets of its message?
bool outside_memory::comes_for_next_part(bool in_message,
                                         const base::byte_queue& queue) const noexcept
{
    if (!envelope_is_taken_off_)
        return !in_message;
    for (auto parts = queue.uncommitted(); !parts.empty();) {
        zmtp3::frame_header header;
        if (!zmtp3::decode_header(parts.data(), parts.size(), header) ||
            (header.flags & zmtp3::flag_command) != 0)
            return false;
        const std::size_t bytes = header.header_bytes + header.body_bytes;
        if (header.body_bytes == 0)
            return parts.size() == bytes;
        parts = parts.subspan(std::min(bytes, parts.size()));
    }
    return false;
}

void outside_memory::finish(base::buffer& announced, std::size_t body_bytes) noexcept
{
    std::memcpy(announced.data, memory_.data(),
                std::min(body_bytes, tuning::inproc::copied_at_once_bytes));
    announced.add_reference();
    finished_ = {&announced, body_bytes};
    in_use_ = false;
    memory_ = {};
}

void outside_memory::withdraw(std::byte* to, std::size_t bytes_come) noexcept
{
    if (std::exchange(in_use_, false))
        std::memcpy(to, memory_.data(), bytes_come);
    memory_ = {};
}

void outside_memory::reset() noexcept
{
    if (finished_.announced)
        std::exchange(finished_, {}).announced->drop_reference();
    in_use_ = false;
    memory_ = {};
}

} // namespace zlink::engine
