// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/memory/secret.hpp"
#include "engine/curve/box.hpp"
#include "engine/curve/counter.hpp"
#include "engine/wire/frame_cipher.hpp"
#include "mechanism_fuzz.hpp"

/// What the fuzz targets of the two sides of CURVE share: keys that never change, of which the
/// target knows both sides', and the traffic after the handshake.
namespace zlink::fuzz {

namespace curve = engine::curve;

using key = std::array<std::byte, curve::key_bytes>;

/// The acts of both sides, besides those of one of them.
enum curve_act : std::uint8_t {
    sealed_message = 8, ///< The peer sends a MESSAGE, see traffic::receive_sealed().
    any_message,        ///< The peer sends the data in place of a MESSAGE.
    own_message,        ///< This side sends the data, in front of which there are flags.
};

/// Bytes that count up from `first`.
inline key counted_key(unsigned first)
{
    key result{};
    for (std::byte& each : result)
        each = static_cast<std::byte>(first++);
    return result;
}

// Those of curve_test.cpp, so that what it has recorded is valid here.
inline constexpr std::array<std::uint8_t, 32> client_secret_bytes{
    0x7b, 0xb8, 0x64, 0xb4, 0x89, 0xaf, 0xa3, 0x67, 0x1f, 0xbe, 0x69, 0x10, 0x1f, 0x94, 0xb3, 0x89,
    0x72, 0xf2, 0x48, 0x16, 0xdf, 0xb0, 0x1b, 0x51, 0x65, 0x6b, 0x3f, 0xec, 0x8d, 0xfd, 0x08, 0x88};
inline constexpr std::array<std::uint8_t, 32> server_secret_bytes{
    0x8e, 0x0b, 0xdd, 0x69, 0x76, 0x28, 0xb9, 0x1d, 0x8f, 0x24, 0x55, 0x87, 0xee, 0x95, 0xc5, 0xb0,
    0x4d, 0x48, 0x96, 0x3f, 0x79, 0x25, 0x98, 0x77, 0xb4, 0x9c, 0xd9, 0x06, 0x3a, 0xea, 0xd3, 0xb7};

inline key to_key(byte_view bytes)
{
    key result{};
    std::ranges::copy(bytes.first(result.size()), result.begin());
    return result;
}
inline const key client_secret = to_key(std::as_bytes(std::span(client_secret_bytes)));
inline const key server_secret = to_key(std::as_bytes(std::span(server_secret_bytes)));
inline const key client_short_term_secret = counted_key(0);
inline const key server_short_term_secret = counted_key(0x20);
inline const key cookie_key = counted_key(0x40);
inline const key client_public = curve::public_key_of(client_secret);
inline const key server_public = curve::public_key_of(server_secret);
inline const key client_short_term = curve::public_key_of(client_short_term_secret);
inline const key server_short_term = curve::public_key_of(server_short_term_secret);

/// Random bytes that count up from `next`, for so many calls.
struct counted_random {
    std::uint8_t next = 0;
    std::uint8_t jump_from = 0; ///< in place of this ...
    std::uint8_t jump_to = 0;   ///< ... comes this
    int calls_left = 0;

    bool operator()(std::span<std::byte> out)
    {
        if (next == jump_from)
            next = jump_to;
        for (std::byte& each : out)
            each = static_cast<std::byte>(next++);
        return calls_left-- > 0;
    }
};

inline std::optional<key> shared_key(const key& theirs, const key& mine)
{
    key result{};
    if (!curve::share(result, theirs, mine))
        return std::nullopt;
    return result;
}

inline byte_vector box(byte_view text, const curve::nonce& nonce, const key& with)
{
    byte_vector result(text.size() + curve::mac_bytes);
    curve::seal(result, text, nonce, with);
    return result;
}
inline std::optional<byte_vector> unbox(byte_view sealed, const curve::nonce& nonce,
                                        const key& with)
{
    if (sealed.size() < curve::mac_bytes)
        return std::nullopt;
    byte_vector result(sealed.size() - curve::mac_bytes);
    if (!curve::open(result, sealed, nonce, with))
        return std::nullopt;
    return result;
}
/// A nonce of a prefix of 8 characters and the first 16 bytes.
inline curve::nonce random_nonce(std::string_view prefix, byte_view bytes)
{
    return curve::random_nonce(prefix, bytes.first<16>());
}
inline std::uint64_t counter_at(byte_view body, std::size_t at)
{
    return input(body.subspan(at)).number(curve::counter_bytes);
}
inline void append_counter(byte_vector& body, std::uint64_t counter)
{
    body.resize(body.size() + curve::counter_bytes);
    curve::put_counter(body.data() + body.size() - curve::counter_bytes, counter);
}
inline void append(byte_vector& body, byte_view bytes)
{
    engine::append_bytes(body, bytes);
}

/// The traffic of a side after the handshake, until the first frame that is wrong. What its cipher
/// does is compared with what whole boxes say.
class traffic {
public:
    struct counters {
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
    };
    traffic(std::shared_ptr<engine::frame_cipher> cipher, const key& with, bool is_client,
            counters last)
        : cipher_(std::move(cipher)),
          with_(with),
          last_(last),
          sending_(is_client ? "CurveZMQMESSAGEC" : "CurveZMQMESSAGES"),
          receiving_(is_client ? "CurveZMQMESSAGES" : "CurveZMQMESSAGEC")
    {}

    void perform(const act& next)
    {
        if (next.what == sealed_message)
            receive_sealed(input(next.data));
        else if (next.what == any_message)
            receive(next.data);
        else if (next.what == own_message)
            send(input(next.data));
    }

private:
    /// Modes (1 byte: bit 0: any counter, bit 1: a byte is changed), the counter (8 bytes) or how
    /// far it goes on (1 byte), which byte (2 bytes) and by what (1 byte), the rest is flags and
    /// body.
    void receive_sealed(input from)
    {
        const std::uint8_t modes = from.byte();
        const std::uint64_t counter =
            modes & 1 ? from.number(curve::counter_bytes) : last_.received + 1 + from.byte();
        const std::size_t changed = modes & 2 ? from.number(2) : 0;
        const auto by = static_cast<std::byte>(modes & 2 ? from.byte() : 0);
        byte_vector frame;
        append(frame, engine::as_bytes("\7MESSAGE"));
        append_counter(frame, counter);
        append(frame, box(from.rest(), curve::counted_nonce(receiving_, counter), with_));
        frame[changed % frame.size()] ^= by;
        receive(std::move(frame));
    }
    void receive(byte_vector frame)
    {
        if (is_over_)
            return;
        byte_vector text;
        const engine::cipher_fault expected = open(frame, text);
        const auto opened = cipher_->open(0, frame);
        fuzz_check(opened.fault == expected);
        is_over_ = expected != engine::cipher_fault::none;
        if (is_over_)
            return;
        const unsigned inner = std::to_integer<unsigned>(text[0]);
        fuzz_check(opened.flags == ((inner & 1 ? engine::zmtp3::flag_more : 0) |
                                    (inner & 2 ? engine::zmtp3::flag_command : 0)));
        fuzz_check(std::ranges::equal(opened.body, byte_view(text).subspan(1)));
        last_.received = counter_at(frame, 8);
    }
    engine::cipher_fault open(byte_view frame, byte_vector& text) const
    {
        using engine::cipher_fault;
        if (!engine::as_text(frame).starts_with("\7MESSAGE"))
            return cipher_fault::not_encrypted;
        if (frame.size() < 33)
            return cipher_fault::too_short;
        const std::uint64_t counter = counter_at(frame, 8);
        if (counter <= last_.received)
            return cipher_fault::out_of_sequence;
        auto opened = unbox(frame.subspan(16), curve::counted_nonce(receiving_, counter), with_);
        if (!opened)
            return cipher_fault::not_authentic;
        if (counter != last_.received + 1)
            return cipher_fault::out_of_sequence;
        text = std::move(*opened);
        return cipher_fault::none;
    }
    void send(input from)
    {
        const std::uint8_t flags = from.byte();
        const byte_view body = from.rest();
        byte_vector frame(cipher_->sealed_bytes(body.size()));
        fuzz_check(frame.size() == 33 + body.size() && cipher_->outer_flags(flags) == 0);
        fuzz_check(cipher_->seal(flags, body, frame));
        fuzz_check(engine::as_text(frame).starts_with("\7MESSAGE"));
        fuzz_check(counter_at(frame, 8) == ++last_.sent);
        const auto text =
            unbox(byte_view(frame).subspan(16), curve::counted_nonce(sending_, last_.sent), with_);
        fuzz_check(text && std::ranges::equal(byte_view(*text).subspan(1), body));
        const unsigned expected = (flags & engine::zmtp3::flag_more ? 1 : 0) |
                                  (flags & engine::zmtp3::flag_command ? 2 : 0);
        fuzz_check(std::to_integer<unsigned>((*text)[0]) == expected);
    }

    const std::shared_ptr<engine::frame_cipher> cipher_;
    const key with_;
    counters last_;
    const std::string_view sending_;
    const std::string_view receiving_;
    bool is_over_ = false;
};

} // namespace zlink::fuzz
