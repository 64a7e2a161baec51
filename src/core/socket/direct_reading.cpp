// SPDX-License-Identifier: Apache-2.0
#include "core/socket/direct_reading.hpp"

#include "base/tuning.hpp"

#include <cstring>
#include <utility>

namespace zlink::core {

bool direct_reading::contains(const pipe_end& pipe) const noexcept
{
    return std::ranges::find(connections_, &pipe, &connection::pipe) != connections_.end();
}

inlet::leased_read direct_reading::read_one(pipe_end& pipe) noexcept
{
    const bool memory_taken = body_here_.announced || (coming_from_ && coming_from_ != &pipe);
    const auto read = pipe.in.read_connection(memory_taken ? std::span<std::byte>{} : memory_);
    if (!memory_taken)
        coming_from_ = read.outside ? &pipe : nullptr;
    if (read.body.announced)
        body_here_ = read.body;
    return read;
}

void direct_reading::give_back() noexcept
{
    for (const connection& each : connections_)
        each.pipe->in.stop_reading();
    connections_.clear();
}

bool direct_reading::remove(const pipe_end& pipe) noexcept
{
    if (coming_from_ == &pipe)
        reclaim_memory();
    return std::erase_if(connections_,
                         [&](const connection& each) { return each.pipe == &pipe; }) != 0;
}

void direct_reading::offer_memory(std::span<std::byte> memory) noexcept
{
    if (offers_to_skip_ == 0 || connections_.size() == 1)
        memory_ = memory;
    else
        --offers_to_skip_;
}

// With one connection the next message is always the one that comes first.
void direct_reading::note_use_of_memory(bool taken) noexcept
{
    if (taken || connections_.size() < 2)
        skips_after_vain_offer_.reset();
    else
        offers_to_skip_ = skips_after_vain_offer_.lengthen();
}

bool direct_reading::take_body(const frame& part) noexcept
{
    if (!body_here_.announced || part.owner != body_here_.announced)
        return false;
    std::exchange(body_here_, {}).announced->drop_reference(); // the part has another
    note_use_of_memory(true);
    return true;
}

void direct_reading::reclaim_memory() noexcept
{
    if (coming_from_ || body_here_.announced)
        note_use_of_memory(false);
    if (coming_from_ && coming_from_->in.connection())
        coming_from_->in.connection()->withdraw_memory();
    coming_from_ = nullptr;
    if (body_here_.announced) {
        std::memcpy(body_here_.announced->data, memory_.data(), body_here_.bytes);
        std::exchange(body_here_, {}).announced->drop_reference();
    }
    memory_ = {};
}

} // namespace zlink::core
