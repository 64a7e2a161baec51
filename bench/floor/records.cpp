// SPDX-License-Identifier: Apache-2.0
#include "floor/records.hpp"

#include "common/cell.hpp"
#include "floor/traffic.hpp"

#include <algorithm>

namespace zlink::bench {

namespace {

constexpr std::size_t usual_buffer_bytes = 128 * 1024;

constexpr char long_frame = 2; ///< of the flags that ZMTP's header begins with

} // namespace

record_format::record_format(std::size_t body_bytes)
    : pattern_(framed(body_bytes), 'z'),
      header_bytes_(framed(body_bytes) - body_bytes),
      has_time_(body_bytes >= min_timed_size_bytes)
{
    // The size is in network byte order.
    for (std::size_t i = header_bytes_ - 1, left = body_bytes; i != 0; --i, left >>= 8U) {
        pattern_[i] = static_cast<char>(left & 0xffU);
    }
    pattern_[0] = header_bytes_ == 2 ? 0 : long_frame;
}

record_reader::record_reader(std::size_t record_bytes)
    : record_bytes_(record_bytes), buffer_(std::max(usual_buffer_bytes, 2 * record_bytes))
{}

} // namespace zlink::bench
