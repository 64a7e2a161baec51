// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/read_buffer.hpp"

#include "base/memory/give_back.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace zlink::engine {

bool read_buffer::prepare(std::size_t needed_bytes, std::size_t read_bytes, iovec& room) noexcept
{
    if (next_ != 0) {
        if (!empty())
            std::memmove(memory_.data(), memory_.data() + next_, size());
        end_ = size();
        next_ = 0;
    }
    const std::size_t total = std::max(needed_bytes, end_ + read_bytes);
    try {
        if (end_ == 0 && memory_.size() > 2 * total)
            base::give_back(memory_); // an idle connection keeps little
        if (memory_.size() < total)
            memory_.resize(total);
    } catch (const std::bad_alloc&) {
        return false;
    }
    room = {memory_.data() + end_, memory_.size() - end_};
    return true;
}

} // namespace zlink::engine
