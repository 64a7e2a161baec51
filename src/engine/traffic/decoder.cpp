// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/decoder.hpp"

#include "engine/codec/zmtp3.hpp"

#include <cstring>

namespace zlink::engine {

bool decoder::append(std::uint8_t flags, std::span<const std::byte> body) noexcept
{
    std::byte* const at = to_.queue.reserve(zmtp3::long_header_bytes + body.size());
    if (!at)
        return false;
    const std::size_t header_bytes = zmtp3::encode_header(at, flags, body.size());
    if (!body.empty()) // memcpy must not see null
        std::memcpy(at + header_bytes, body.data(), body.size());
    to_.queue.advance(header_bytes + body.size());
    end_of_frame(false);
    publish();
    return true;
}

} // namespace zlink::engine
