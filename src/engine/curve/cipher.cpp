// SPDX-License-Identifier: Apache-2.0
#include "engine/curve/cipher.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/curve/counter.hpp"
#include "engine/curve/key_stream.hpp"
#include "engine/curve/raw_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sodium.h>
#include <string_view>

namespace zlink::engine::curve {
namespace {

// A sealed body: the name of the command, the counter, the MAC, then the ciphertext of
// the flags and the body.
constexpr std::string_view command_name = "\7MESSAGE";
constexpr std::size_t mac_offset = command_name.size() + counter_bytes;
constexpr std::size_t text_offset = mac_offset + mac_bytes;
constexpr std::size_t body_offset = text_offset + 1;

constexpr std::string_view client_prefix = "CurveZMQMESSAGEC";
constexpr std::string_view server_prefix = "CurveZMQMESSAGES";

// A box takes the key of its MAC from the first 32 bytes of the stream of Salsa20, and
// its ciphertext begins behind them: at the place where the text begins in a sealed body.
static_assert(text_offset == crypto_onetimeauth_poly1305_KEYBYTES);
// How much of a body is copied, so that it is sealed along with what comes before it. The rest is
// sealed from where it is.
constexpr std::size_t copied_bytes = key_stream::piece_bytes - body_offset;

// The flags inside, which are not those of a frame.
constexpr unsigned char inner_more = 1;
constexpr unsigned char inner_command = 2;

unsigned char inner_flags(std::uint8_t flags) noexcept
{
    return static_cast<unsigned char>((flags & zmtp3::flag_more ? inner_more : 0) |
                                      (flags & zmtp3::flag_command ? inner_command : 0));
}

std::uint8_t frame_flags(unsigned char inner) noexcept
{
    return static_cast<std::uint8_t>((inner & inner_more ? zmtp3::flag_more : 0) |
                                     (inner & inner_command ? zmtp3::flag_command : 0));
}

// The first step of XSalsa20 depends on the key and the prefix only: it is made once.
void derive(std::array<std::byte, key_bytes>& out, std::string_view prefix,
            const std::array<std::byte, key_bytes>& shared) noexcept
{
    crypto_core_hsalsa20(raw(out.data()), reinterpret_cast<const unsigned char*>(prefix.data()),
                         raw(shared.data()), nullptr);
}

} // namespace

cipher::cipher(role own, const std::array<std::byte, key_bytes>& shared, std::uint64_t last_sent,
               std::uint64_t last_received)
    : sent_(last_sent), received_(last_received)
{
    const bool client = own == role::client;
    derive(keys_->sending, client ? client_prefix : server_prefix, shared);
    derive(keys_->receiving, client ? server_prefix : client_prefix, shared);
}

std::size_t cipher::sealed_bytes(std::size_t plain_bytes) const noexcept
{
    return body_offset + plain_bytes;
}

std::uint8_t cipher::outer_flags(std::uint8_t) const noexcept
{
    return 0;
}

bool cipher::seal(std::uint8_t flags, std::span<const std::byte> body,
                  std::span<std::byte> out) noexcept
{
    if (sent_ == UINT64_MAX)
        return false; // no counter may come twice
    ++sent_;
    std::byte counter[counter_bytes];
    put_counter(counter, sent_);
    const key_stream stream(keys_->sending, counter);
    std::byte* const at = out.data();
    const auto copied = body.first(std::min(body.size(), copied_bytes));
    const auto rest = body.subspan(copied.size());
    std::memset(at, 0, text_offset);
    at[text_offset] = std::byte(inner_flags(flags));
    if (!copied.empty()) // memcpy must not see null
        std::memcpy(at + body_offset, copied.data(), copied.size());
    stream.apply(at, at, body_offset + copied.size(), 0);
    if (!rest.empty())
        stream.apply(at + key_stream::piece_bytes, rest.data(), rest.size(),
                     key_stream::piece_bytes / key_stream::block_bytes);
    const mac made = sent_macs_.make(out.subspan(text_offset), out.first<key_bytes>());
    std::memcpy(at + mac_offset, made.data(), made.size());
    std::memcpy(at, command_name.data(), command_name.size());
    std::memcpy(at + command_name.size(), counter, sizeof counter);
    return true;
}

// The flags of the outer frame say nothing: libzmq sends none, others mark a command.
frame_cipher::opened cipher::open(std::uint8_t, std::span<std::byte> body) noexcept
{
    if (body.size() < command_name.size() ||
        std::memcmp(body.data(), command_name.data(), command_name.size()) != 0)
        return {.fault = cipher_fault::not_encrypted};
    if (body.size() < body_offset)
        return {.fault = cipher_fault::too_short};
    const std::uint64_t counter = get_counter(body.data() + command_name.size());
    if (counter <= received_)
        return {.fault = cipher_fault::out_of_sequence};
    std::byte* const at = body.data();
    const std::span<std::byte> text = body.subspan(text_offset);
    const key_stream stream(keys_->receiving, at + command_name.size());
    // What comes before the text in the first piece is not encrypted, and is not to change.
    std::array<std::byte, key_stream::piece_bytes> first;
    std::memset(first.data(), 0, text_offset);
    const std::size_t in_first = std::min(text.size(), first.size() - text_offset);
    std::memcpy(first.data() + text_offset, text.data(), in_first);
    stream.apply(first.data(), first.data(), text_offset + in_first, 0);
    const mac expected =
        received_macs_.make(text, std::span<const std::byte>(first).first<key_bytes>());
    const bool authentic = are_same(expected, body.subspan(mac_offset, mac_bytes));
    const bool is_next = counter == received_ + 1;
    if (authentic && is_next) {
        received_ = counter;
        std::memcpy(text.data(), first.data() + text_offset, in_first);
        if (text.size() > in_first)
            stream.apply(at + first.size(), at + first.size(), text.size() - in_first,
                         first.size() / key_stream::block_bytes);
    }
    base::wipe(first.data(), text_offset);
    if (!authentic)
        return {.fault = cipher_fault::not_authentic};
    if (!is_next) // the peer has sealed another one before, which has been taken out
        return {.fault = cipher_fault::out_of_sequence};
    return {.fault = cipher_fault::none,
            .flags = frame_flags(std::to_integer<unsigned char>(at[text_offset])),
            .body = body.subspan(body_offset)};
}

} // namespace zlink::engine::curve
