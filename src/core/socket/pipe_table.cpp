// SPDX-License-Identifier: Apache-2.0
#include "core/socket/pipe_table.hpp"

#include <utility>

namespace zlink::core {

void pipe_table::add(const std::shared_ptr<pipe_end>& pipe)
{
    if (free_numbers_.capacity() <= pipes_.size())
        free_numbers_.reserve(2 * pipes_.size() + 1);
    if (dropped_.capacity() <= pipes_.size() + dropped_.size())
        dropped_.reserve(2 * (pipes_.size() + dropped_.size()) + 1);
    if (free_numbers_.empty()) {
        pipe->slot.number = static_cast<std::uint32_t>(pipes_.size());
        pipes_.push_back(pipe);
    } else {
        pipe->slot.number = free_numbers_.back();
        free_numbers_.pop_back();
        pipes_[pipe->slot.number] = pipe;
    }
}

void pipe_table::remove(pipe_end& pipe) noexcept
{
    free_numbers_.push_back(pipe.slot.number);
    pipes_[pipe.slot.number].reset(); // may be the end of it
}

std::shared_ptr<pipe_end> pipe_table::take_dropped() noexcept
{
    auto pipe = std::move(dropped_.back());
    dropped_.pop_back();
    return pipe;
}

} // namespace zlink::core
