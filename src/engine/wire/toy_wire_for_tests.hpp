// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/bytes.hpp"
#include "engine/codec/zmtp3.hpp"
#include "engine/traffic/wire_inbound.hpp"
#include "engine/wire/wire.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace zlink::test {

/// Xors 8 bytes at a time: instrumented test programs are slow enough.
inline void mask_words(std::span<std::byte> bytes, std::uint64_t with) noexcept
{
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        const std::size_t some = std::min<std::size_t>(8, bytes.size() - i);
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, some);
        word ^= with;
        std::memcpy(bytes.data() + i, &word, some);
    }
}

/// A cipher that hides nothing: xor with a counter. A sealed body is 16 bytes longer than the plain
/// one: the counter, which must be that of the next frame, the inner flags and a sum.
class toy_cipher final : public engine::frame_cipher {
public:
    static constexpr std::size_t overhead_bytes = 16;

    /// Seals no more frames than this.
    explicit toy_cipher(std::uint64_t most_frames = UINT64_MAX) : most_frames_(most_frames) {}

    std::size_t sealed_bytes(std::size_t plain_bytes) const noexcept override
    {
        return plain_bytes + overhead_bytes;
    }
    std::uint8_t outer_flags(std::uint8_t) const noexcept override { return 0; }
    bool seal(std::uint8_t flags, std::span<const std::byte> body,
              std::span<std::byte> out) noexcept override
    {
        if (sealed_ == most_frames_)
            return false;
        const std::uint64_t counter = sealed_++;
        if (!body.empty()) // memcpy must not see null
            std::memcpy(out.data() + overhead_bytes, body.data(), body.size());
        const auto plain = out.subspan(overhead_bytes);
        const std::uint32_t sum = sum_of(flags, plain);
        mask_words(plain, key(counter));
        const std::uint32_t inner_flags = flags;
        std::memcpy(out.data(), &counter, 8);
        std::memcpy(out.data() + 8, &inner_flags, 4);
        std::memcpy(out.data() + 12, &sum, 4);
        return true;
    }
    opened open(std::uint8_t flags, std::span<std::byte> body) noexcept override
    {
        if (flags != 0 || body.size() < overhead_bytes)
            return {};
        std::uint64_t counter = 0;
        std::uint32_t inner_flags = 0;
        std::uint32_t sum = 0;
        std::memcpy(&counter, body.data(), 8);
        std::memcpy(&inner_flags, body.data() + 8, 4);
        std::memcpy(&sum, body.data() + 12, 4);
        if (counter != opened_)
            return {};
        ++opened_;
        const auto plain = body.subspan(overhead_bytes);
        mask_words(plain, key(counter));
        if (sum_of(inner_flags, plain) != sum)
            return {};
        return {engine::cipher_fault::none, static_cast<std::uint8_t>(inner_flags), plain};
    }

private:
    static std::uint64_t key(std::uint64_t counter) noexcept
    {
        return (counter + 1) * 0x9e3779b97f4a7c15U;
    }
    static std::uint32_t sum_of(std::uint32_t flags, std::span<const std::byte> body) noexcept
    {
        std::uint64_t sum = flags;
        for (std::size_t i = 0; i < body.size(); i += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, body.data() + i, std::min<std::size_t>(8, body.size() - i));
            sum = sum * 31 + word;
        }
        return static_cast<std::uint32_t>(sum ^ sum >> 32);
    }

    const std::uint64_t most_frames_;
    std::uint64_t sealed_ = 0;
    std::uint64_t opened_ = 0;
};

/// Frames with heads of 5 bytes: the kind, and the size (4 bytes, little-endian). The body is
/// masked by its size. Has its own control frames: ping and pong with the ZMTP command as their
/// body, and a third one that means nothing.
class toy_codec final : public engine::frame_codec {
public:
    static constexpr std::size_t size_of_head = 5;
    static constexpr std::uint8_t kind_frame = 0x10; // and the flags
    static constexpr std::uint8_t kind_ping = 0x20;
    static constexpr std::uint8_t kind_pong = 0x21;
    static constexpr std::uint8_t kind_empty = 0x22;

    toy_codec() noexcept : frame_codec({.sent_bodies = &sent_, .received_bodies = &received_}) {}
    std::size_t head_bytes(std::uint64_t) const noexcept override { return size_of_head; }
    std::size_t encode_head(std::byte* out, std::uint8_t flags,
                            std::uint64_t body_bytes) noexcept override
    {
        sent_.with = put_head(out, kind_frame | flags, body_bytes);
        return size_of_head;
    }
    bool encode_control(std::vector<std::byte>& out,
                        const engine::traffic_command& command) override
    {
        std::vector<std::byte> frame;
        engine::append_traffic_command(frame, command);
        const std::span<std::byte> body = std::span(frame).subspan(2);
        const bool is_ping = command.kind == engine::traffic_command_kind::ping;
        std::byte head[size_of_head];
        mask(body, put_head(head, is_ping ? kind_ping : kind_pong, body.size()));
        engine::append_bytes(out, head);
        engine::append_bytes(out, body);
        ++control_frames;
        return true;
    }
    decoded decode_head(const std::byte* at, std::size_t available,
                        engine::frame_head& head) noexcept override
    {
        if (available < size_of_head)
            return decoded::incomplete;
        const auto kind = std::to_integer<std::uint8_t>(at[0]);
        const bool control = kind >= kind_ping && kind <= kind_empty;
        if (!control && (kind & 0xf0) != kind_frame)
            return decoded::no_frame;
        std::uint32_t bytes = 0;
        std::memcpy(&bytes, at + 1, 4);
        received_.with = static_cast<std::byte>(bytes + 0x5a);
        control_kind_ = kind;
        head = {static_cast<std::uint8_t>(control ? 0 : kind & 0x0f), control, size_of_head, bytes};
        return decoded::head;
    }
    engine::traffic_command decode_control(std::span<const std::byte> body) noexcept override
    {
        return control_kind_ == kind_empty ? engine::traffic_command{}
                                           : engine::parse_traffic_command(body);
    }

    int control_frames = 0; ///< encoded so far

private:
    static std::byte put_head(std::byte* out, std::uint8_t kind, std::uint64_t body_bytes) noexcept
    {
        const auto bytes = static_cast<std::uint32_t>(body_bytes);
        out[0] = static_cast<std::byte>(kind);
        std::memcpy(out + 1, &bytes, 4);
        return static_cast<std::byte>(bytes + 0x5a);
    }
    static void mask(std::span<std::byte> body, std::byte with) noexcept
    {
        mask_words(body, std::to_integer<std::uint64_t>(with) * 0x0101010101010101U);
    }

    class toy_mask final : public engine::body_mask {
    public:
        void apply(std::span<const std::byte> body, std::byte* to) noexcept override
        {
            if (!body.empty()) // memmove must not see null
                std::memmove(to, body.data(), body.size());
            mask({to, body.size()}, with);
        }
        std::byte with{};
    };

    toy_mask sent_;
    toy_mask received_;
    std::uint8_t control_kind_ = 0;
};

/// What a batch would write, which it still has afterwards.
inline std::string bytes_of(const engine::write_batch& batch)
{
    std::array<iovec, 64> pieces{};
    std::size_t total = 0;
    const std::size_t count = batch.list(pieces, total);
    std::string bytes;
    for (const iovec& each : std::span(pieces).first(count))
        bytes.append(static_cast<const char*>(each.iov_base), each.iov_len);
    return bytes;
}

} // namespace zlink::test
