// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/fan_out_log.hpp"

#include "base/tuning.hpp"

#include "engine/codec/zmtp3.hpp"

#include <cstring>

namespace zlink::engine {

fan_out_log::entry fan_out_log::add(std::initializer_list<part> parts) noexcept
{
    std::size_t most_bytes = 0;
    for (const part& each : parts) {
        if (each.body.size() >= tuning::fan_out::max_logged_part_bytes)
            return {};
        most_bytes += zmtp3::long_header_bytes + each.body.size();
    }
    if (!chunk_ || chunk_->capacity_bytes - used_bytes_ < most_bytes) {
        base::buffer* const fresh = base::allocate_buffer(tuning::fan_out::log_chunk_bytes);
        if (!fresh || fresh->capacity_bytes < most_bytes) {
            if (fresh)
                fresh->drop_reference();
            return {};
        }
        chunk_.reset(fresh);
        used_bytes_ = 0;
    }
    std::byte* const begin = chunk_->data + used_bytes_;
    std::byte* at = begin;
    for (const part& each : parts) {
        at += zmtp3::encode_header(at, each.flags, each.body.size());
        if (!each.body.empty()) { // memcpy must not see null
            std::memcpy(at, each.body.data(), each.body.size());
            at += each.body.size();
        }
    }
    const auto bytes = static_cast<std::size_t>(at - begin);
    used_bytes_ += bytes;
    return {chunk_.get(), begin, bytes};
}

} // namespace zlink::engine
