// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/conflate.hpp"

#include "engine/codec/zmtp3.hpp"

#include <cstring>

namespace zlink::engine {

base::buffer_ref copy_frame(std::uint8_t flags, std::span<const std::byte> body) noexcept
{
    base::buffer_ref copy(base::allocate_buffer(zmtp3::long_header_bytes + body.size()));
    if (!copy)
        return copy;
    const std::size_t header = zmtp3::encode_header(copy->data, flags, body.size());
    if (!body.empty()) // memcpy must not see null
        std::memcpy(copy->data + header, body.data(), body.size());
    return copy;
}

copied_frame view_frame(const base::buffer& copy) noexcept
{
    zmtp3::frame_header header;
    zmtp3::decode_header(copy.data, zmtp3::long_header_bytes, header);
    return {header.flags,
            header.header_bytes + header.body_bytes,
            {copy.data + header.header_bytes, header.body_bytes}};
}

newest_frame take_newest(base::byte_queue& queue) noexcept
{
    newest_frame newest;
    while (queue.load()) {
        zmtp3::frame_header header;
        zmtp3::decode_header(queue.read_begin(),
                             static_cast<std::size_t>(queue.read_end() - queue.read_begin()),
                             header);
        queue.consume(header.header_bytes);
        const bool apart = header.body_bytes != 0 && queue.read_begin() == queue.read_end();
        if (apart && queue.load())
            queue.head().owner->lending.await_copy();
        // Only the last one is worth copying.
        if (queue.read_position() + header.body_bytes == queue.published_position())
            newest.copy = copy_frame(header.flags, {queue.read_begin(), header.body_bytes});
        if (apart)
            queue.consume_body();
        else
            queue.consume(header.body_bytes);
        if ((header.flags & zmtp3::flag_more) == 0)
            ++newest.messages;
    }
    return newest;
}

} // namespace zlink::engine
