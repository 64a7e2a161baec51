// SPDX-License-Identifier: Apache-2.0
#include "engine/encoding.hpp"

#include "engine/codec/zmtp1.hpp"

namespace zlink::engine {

void append_header(write_batch& out, framing frames, bool more, std::uint64_t body_bytes)
{
    std::byte header[zmtp1::max_header_bytes];
    const std::size_t bytes =
        frames == framing::zmtp1
            ? zmtp1::encode_header(header, more, body_bytes)
            : zmtp3::encode_header(header, more ? zmtp3::flag_more : 0, body_bytes);
    out.append(std::span(header, bytes));
}

void append_frame(write_batch& out, framing frames, const queued_frame& frame)
{
    append_header(out, frames, (frame.flags & zmtp3::flag_more) != 0, frame.body.size());
    out.append_body(frame.body, frame.owner);
}

void append_command(write_batch& out, const queued_frame& frame)
{
    std::byte header[zmtp3::max_header_bytes];
    const std::size_t bytes = zmtp3::encode_header(header, zmtp3::flag_command, frame.body.size());
    out.append(std::span(header, bytes));
    out.append(frame.body);
}

void append_subscription(write_batch& out, framing frames, bool subscribe,
                         std::span<const std::byte> topic)
{
    append_header(out, frames, false, std::uint64_t{1} + topic.size());
    out.append(static_cast<std::byte>(subscribe));
    out.append(topic);
}

encoding zmtp1_encoding() noexcept
{
    return {.translate = [](write_batch& out, const queued_frame& frame, const void*) {
        append_frame(out, framing::zmtp1, frame);
    }};
}

encoding raw_encoding() noexcept
{
    return {.frames = false};
}

} // namespace zlink::engine
