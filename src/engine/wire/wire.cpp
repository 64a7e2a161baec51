// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/wire.hpp"

#include "base/tuning.hpp"

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"

#include <new>

namespace zlink::engine {
namespace {

bool encode_control(const wire& how, std::vector<std::byte>& out, std::uint8_t flags,
                    std::span<const std::byte> body)
{
    if ((flags & zmtp3::flag_command) == 0)
        return false;
    const traffic_command command = parse_traffic_command(body);
    if (command.kind != traffic_command_kind::ping && command.kind != traffic_command_kind::pong)
        return false;
    return how.codec->encode_control(out, command);
}

} // namespace

std::shared_ptr<frame_codec> codec_for(std::uint8_t major_version) noexcept
{
    return major_version >= 3 ? zmtp3_codec() : major_version == 2 ? zmtp2_codec() : zmtp1_codec();
}

void frame_encoder::encode(std::uint8_t flags, std::span<const std::byte> body, base::buffer* owner,
                           bool borrows)
{
    frame_codec& codec = *wire_.codec;
    frame_cipher* const cipher = wire_.cipher.get();
    flags &= zmtp3::flag_more | zmtp3::flag_command;
    if (failed_ || ((flags & zmtp3::flag_command) != 0 && !codec.traits().carries_commands))
        return;
    const std::size_t bytes = cipher ? cipher->sealed_bytes(body.size()) : body.size();
    body_mask* const mask = codec.traits().sent_bodies;
    const bool changes_body = cipher || mask;
    const bool copies_body = changes_body ? bytes < tuning::writing::min_apart_bytes
                                          : !borrows && !write_batch::refers_to(body, owner);
    // All memory is had before anything is appended or sealed: that cannot be undone.
    base::buffer_ref block;
    if (changes_body && !copies_body && !(block = base::buffer_ref(base::allocate_buffer(bytes))))
        throw std::bad_alloc();
    out_.make_room(frame_codec::max_head_bytes + (copies_body ? bytes : 0));
    std::byte head[frame_codec::max_head_bytes];
    out_.append(std::span(
        head, codec.encode_head(head, cipher ? cipher->outer_flags(flags) : flags, bytes)));
    if (!changes_body)
        return borrows ? out_.append_borrowed(body) : out_.append_body(body, owner);
    const std::span out = block ? std::span(block->data, bytes) : out_.extend(bytes);
    if (cipher) {
        failed_ = !cipher->seal(flags, body, out);
        if (failed_)
            return;
        body = out;
    }
    if (mask)
        mask->apply(body, out.data());
    if (block)
        out_.append_block(std::move(block), bytes);
}

std::size_t frame_encoder::put_own(std::span<const std::byte> frames) noexcept
{
    std::size_t put_bytes = 0;
    try {
        std::vector<std::byte> control;
        zmtp3::for_each_frame(frames, [&](std::uint8_t flags, std::span<const std::byte> body) {
            control.clear();
            if (encode_control(wire_, control, flags, body))
                out_.append(control);
            else
                put_frame(flags, body, nullptr);
            put_bytes = static_cast<std::size_t>(body.data() + body.size() - frames.data());
        });
    } catch (const std::bad_alloc&) {
    }
    return put_bytes;
}

void append_message_frame(std::vector<std::byte>& frames, std::span<const std::byte> body)
{
    std::byte header[zmtp3::long_header_bytes];
    append_bytes(frames, std::span(header, zmtp3::encode_header(header, 0, body.size())));
    append_bytes(frames, body);
}

std::size_t bytes_on_wire(const wire& how, std::span<const std::byte> frame)
{
    std::size_t total = 0;
    zmtp3::for_each_frame(frame, [&](std::uint8_t flags, std::span<const std::byte> body) {
        std::vector<std::byte> control;
        if (encode_control(how, control, flags, body)) {
            total += control.size();
            return;
        }
        if ((flags & zmtp3::flag_command) != 0 && !how.codec->traits().carries_commands)
            return;
        const std::size_t bytes = how.cipher ? how.cipher->sealed_bytes(body.size()) : body.size();
        total += how.codec->head_bytes(bytes) + bytes;
    });
    return total;
}

} // namespace zlink::engine
