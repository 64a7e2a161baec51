// SPDX-License-Identifier: Apache-2.0
#include "engine/wire/websocket_codec.hpp"

#include "base/tuning.hpp"

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/wire/mask_keys.hpp"

#include <algorithm>

namespace zlink::engine {
namespace {

namespace ws = websocket;

// The first byte of the payload. What it has beyond these bits means nothing.
enum payload_flag : std::uint8_t { more_flag = 1, command_flag = 2 };

std::uint8_t to_payload(std::uint8_t flags) noexcept
{
    return static_cast<std::uint8_t>(((flags & zmtp3::flag_more) != 0 ? more_flag : 0) |
                                     ((flags & zmtp3::flag_command) != 0 ? command_flag : 0));
}

std::uint8_t from_payload(std::uint8_t flags) noexcept
{
    return static_cast<std::uint8_t>(((flags & more_flag) != 0 ? zmtp3::flag_more : 0) |
                                     ((flags & command_flag) != 0 ? zmtp3::flag_command : 0));
}

ws::mask_key fresh_mask() noexcept
{
    mask_keys* const keys = mask_keys::of_this_thread();
    return keys ? keys->next() : mask_keys::from_system();
}

// What a peer may say (RFC 6455, section 7.4).
bool is_close_code(unsigned code) noexcept
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

bool is_utf8(std::span<const std::byte> text) noexcept
{
    std::size_t to_come = 0; // bytes of the character that is being read
    unsigned least = 0;      // what the next of them may be
    unsigned most = 0;
    for (const std::byte each : text) {
        const auto byte = std::to_integer<unsigned>(each);
        if (to_come != 0) {
            if (byte < least || byte > most)
                return false;
            --to_come;
        } else if (byte >= 0x80) {
            if (byte < 0xc2 || byte > 0xf4)
                return false;
            to_come = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
            // The first of them also rules out detours, surrogates, and what is beyond Unicode.
            least = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
            most = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
            continue;
        }
        least = 0x80;
        most = 0xbf;
    }
    return to_come == 0;
}

} // namespace

std::size_t websocket_codec::head_bytes(std::uint64_t body_bytes) const noexcept
{
    return ws::header_bytes_for(flags_bytes_ + body_bytes, masks_) + flags_bytes_;
}

std::size_t websocket_codec::encode_head(std::byte* out, std::uint8_t flags,
                                         std::uint64_t body_bytes) noexcept
{
    if (masks_)
        sent_.key = fresh_mask();
    sent_.before = flags_bytes_;
    return put_head(out, flags, body_bytes, sent_.key);
}

std::size_t websocket_codec::put_head(std::byte* out, std::uint8_t flags, std::uint64_t body_bytes,
                                      const ws::mask_key& key) const noexcept
{
    const std::size_t bytes = ws::encode_header(out, ws::final_bit | ws::binary,
                                                flags_bytes_ + body_bytes, masks_ ? &key : nullptr);
    if (flags_bytes_ != 0)
        out[bytes] = static_cast<std::byte>(to_payload(flags)) ^ key[0];
    return bytes + flags_bytes_;
}

void websocket_codec::key_mask::apply(std::span<const std::byte> body, std::byte* to) noexcept
{
    ws::mask_to(to, body, key, before);
}

frame_run websocket_codec::encode_run(std::span<const std::byte> frames, std::span<std::byte> out,
                                      std::span<message_end> ends) noexcept
{
    frame_run done;
    mask_keys* const keys = masks_ ? mask_keys::of_this_thread() : nullptr;
    if (masks_ && !keys)
        return done;
    const std::byte* at = frames.data();
    std::byte* to = out.data();
    std::byte* const end = to + out.size();
    ws::mask_key key{}; // zero without a mask
    for (std::size_t left = frames.size(); done.messages < ends.size();) {
        zmtp3::frame_header header;
        if (!zmtp3::decode_header(at, left, header) || (header.flags & zmtp3::flag_command) != 0 ||
            header.body_bytes >= tuning::writing::min_apart_bytes ||
            header.header_bytes + header.body_bytes > left ||
            ws::max_header_bytes + flags_bytes_ + header.body_bytes >
                static_cast<std::size_t>(end - to))
            break;
        if (keys)
            key = keys->next();
        to += put_head(to, header.flags, header.body_bytes, key);
        const auto body_bytes = static_cast<std::size_t>(header.body_bytes);
        // Also without a mask: for so few bytes a call of memcpy takes longer.
        ws::mask_to(to, {at + header.header_bytes, body_bytes}, key, flags_bytes_);
        to += body_bytes;
        at += header.header_bytes + body_bytes;
        left -= header.header_bytes + body_bytes;
        if ((header.flags & zmtp3::flag_more) != 0)
            continue;
        done.bytes_read = static_cast<std::size_t>(at - frames.data());
        done.bytes_written = done.message_bytes_written = static_cast<std::size_t>(to - out.data());
        ends[done.messages++] = {static_cast<std::uint32_t>(done.bytes_read),
                                 static_cast<std::uint32_t>(done.bytes_written)};
    }
    return done;
}

void websocket_codec::append_control(std::vector<std::byte>& out, std::uint8_t opcode,
                                     std::span<const std::byte> payload) const
{
    payload = payload.first(std::min(payload.size(), ws::max_control_bytes));
    ws::mask_key key{};
    if (masks_)
        key = fresh_mask();
    std::byte head[ws::max_header_bytes];
    append_bytes(out, std::span(head, ws::encode_header(
                                          head, static_cast<std::uint8_t>(ws::final_bit | opcode),
                                          payload.size(), masks_ ? &key : nullptr)));
    append_bytes(out, payload);
    if (masks_)
        ws::apply_mask(std::span(out).last(payload.size()), key);
}

bool websocket_codec::encode_control(std::vector<std::byte>& out, const traffic_command& command)
{
    const bool is_ping = command.kind == traffic_command_kind::ping;
    append_control(out, is_ping ? ws::ping : ws::pong, command.argument);
    return true;
}

void websocket_codec::encode_farewell(std::vector<std::byte>& out, farewell why)
{
    std::uint16_t code = close_code_.load(std::memory_order_relaxed);
    if (why == farewell::too_large)
        code = ws::close_too_large;
    else if (why == farewell::unacceptable)
        code = ws::close_policy;
    else if (why == farewell::done)
        code = ws::close_normal;
    const std::byte bytes[] = {static_cast<std::byte>(code >> 8), static_cast<std::byte>(code)};
    append_control(out, ws::close,
                   code == ws::close_without_code ? std::span<const std::byte>() : bytes);
}

frame_codec::decoded websocket_codec::refuse(std::uint16_t close_code) noexcept
{
    close_code_.store(close_code, std::memory_order_relaxed);
    return decoded::no_frame;
}

// May a frame have this first byte now? If not the close code is set.
bool websocket_codec::may_begin_with(std::uint8_t first) noexcept
{
    const std::uint8_t opcode = first & ws::opcode_bits;
    const bool is_control = opcode >= ws::close;
    bool allowed = (first & ws::reserved_bits) == 0;
    if (is_control)
        allowed &= opcode <= ws::pong && (first & ws::final_bit) != 0;
    else if (opcode == ws::continuation)
        allowed &= in_fragments_;
    else
        allowed &= opcode <= ws::binary && !in_fragments_;
    if (allowed && opcode != ws::text)
        return true;
    refuse(allowed ? ws::close_unacceptable_data : ws::close_protocol_error);
    return false;
}

websocket_codec::frame_kind websocket_codec::kind_of(std::uint8_t first) const noexcept
{
    frame_kind kind{};
    kind.opcode = first & ws::opcode_bits;
    kind.is_control = kind.opcode >= ws::close;
    kind.continues = !kind.is_control && (first & ws::final_bit) == 0;
    kind.has_flags = flags_bytes_ != 0 && (kind.opcode == ws::binary ||
                                           (kind.opcode == ws::continuation && awaits_flags_));
    return kind;
}

// Of the second byte: the bit of the mask, and the length if that is short.
bool websocket_codec::may_have_length(const frame_kind& kind, std::uint8_t second) const noexcept
{
    const std::size_t length = second & ~ws::mask_bit;
    const bool is_masked = (second & ws::mask_bit) != 0;
    if (is_masked == masks_ || (kind.is_control && length > ws::max_control_bytes))
        return false;
    return !kind.has_flags || length != 0 || kind.continues;
}

frame_codec::decoded websocket_codec::decode_head(const std::byte* at, std::size_t available,
                                                  frame_head& head) noexcept
{
    if (available == 0)
        return decoded::incomplete;
    const auto first = std::to_integer<std::uint8_t>(at[0]);
    if (!may_begin_with(first))
        return decoded::no_frame;
    const frame_kind kind = kind_of(first);
    if (available >= 2 && !may_have_length(kind, std::to_integer<std::uint8_t>(at[1])))
        return refuse(ws::close_protocol_error);
    ws::frame_header header;
    switch (ws::decode_header(at, available, header)) {
    case ws::decoded::incomplete:
        return decoded::incomplete;
    case ws::decoded::bad_length:
        return refuse(ws::close_protocol_error);
    case ws::decoded::header:
        break;
    }
    const std::size_t flags_bytes = kind.has_flags && header.payload_bytes != 0 ? flags_bytes_ : 0;
    if (available < header.header_bytes + flags_bytes)
        return decoded::incomplete;
    if (flags_bytes != 0)
        fragment_flags_ =
            from_payload(std::to_integer<std::uint8_t>(at[header.header_bytes] ^ header.key[0]));
    head = begin_body(kind, header, flags_bytes);
    return decoded::head;
}

// `flags_bytes` of the payload belong to the head.
frame_head websocket_codec::begin_body(const frame_kind& kind, const ws::frame_header& header,
                                       std::size_t flags_bytes) noexcept
{
    const bool is_nothing_yet = kind.has_flags && flags_bytes == 0;
    if (!kind.is_control) {
        in_fragments_ = kind.continues;
        awaits_flags_ = is_nothing_yet;
    }
    control_ = kind.is_control ? kind.opcode : 0;
    if (is_nothing_yet)
        return {0, true, header.header_bytes, 0, false};
    received_.key = header.key;
    received_.before = flags_bytes;
    return {kind.is_control ? std::uint8_t{0} : fragment_flags_, kind.is_control,
            header.header_bytes + flags_bytes, header.payload_bytes - flags_bytes, kind.continues};
}

frame_run websocket_codec::decode_run(std::span<const std::byte> bytes, std::span<std::byte> out,
                                      std::uint64_t max_body_bytes) noexcept
{
    constexpr auto first = std::byte{ws::final_bit | ws::binary};
    const std::uint64_t most =
        std::min<std::uint64_t>(max_body_bytes, tuning::writing::min_apart_bytes - 1);
    frame_run done;
    if (in_fragments_)
        return done;
    const std::byte* at = bytes.data();
    std::byte* to = out.data();
    std::byte* const end = to + out.size();
    for (std::size_t left = bytes.size(); left != 0 && at[0] == first;) {
        ws::frame_header header;
        if (ws::decode_header(at, left, header) != ws::decoded::header || header.masked == masks_ ||
            header.payload_bytes < flags_bytes_ || header.payload_bytes > most + flags_bytes_ ||
            header.payload_bytes > left - header.header_bytes)
            break;
        at += header.header_bytes;
        const auto payload_bytes = static_cast<std::size_t>(header.payload_bytes);
        const std::size_t body_bytes = payload_bytes - flags_bytes_;
        const std::uint8_t flags =
            flags_bytes_ == 0 ? 0
                              : from_payload(std::to_integer<std::uint8_t>(at[0] ^ header.key[0]));
        if ((flags & zmtp3::flag_command) != 0)
            break;
        if (static_cast<std::size_t>(end - to) < zmtp3::long_header_bytes + body_bytes) {
            done.needed_bytes = zmtp3::long_header_bytes + body_bytes;
            break;
        }
        to += zmtp3::encode_header(to, flags, body_bytes);
        const std::span body(at + flags_bytes_, body_bytes);
        ws::mask_to(to, body, header.key, flags_bytes_); // the key is zero without a mask
        to += body_bytes;
        at += payload_bytes;
        left -= header.header_bytes + payload_bytes;
        done.bytes_read = static_cast<std::size_t>(at - bytes.data());
        done.bytes_written = static_cast<std::size_t>(to - out.data());
        done.more = (flags & zmtp3::flag_more) != 0;
        if (done.more)
            continue;
        ++done.messages;
        done.message_bytes_written = done.bytes_written;
    }
    return done;
}

traffic_command websocket_codec::decode_control(std::span<const std::byte> body) noexcept
{
    switch (control_) {
    case ws::ping:
        return {traffic_command_kind::ping, body, 0};
    case ws::pong:
        return {traffic_command_kind::pong, body, 0};
    case ws::close:
        break;
    default:
        return {}; // a fragment before the flags
    }
    std::uint16_t code = ws::close_without_code;
    if (!body.empty()) {
        const unsigned said = body.size() == 1 ? 0
                                               : std::to_integer<unsigned>(body[0]) << 8 |
                                                     std::to_integer<unsigned>(body[1]);
        if (!is_close_code(said))
            code = ws::close_protocol_error;
        else if (!is_utf8(body.subspan(2)))
            code = ws::close_no_text;
        else
            code = static_cast<std::uint16_t>(said);
    }
    close_code_.store(code, std::memory_order_relaxed);
    return {traffic_command_kind::close, {}, 0};
}

} // namespace zlink::engine
