// SPDX-License-Identifier: Apache-2.0
#include "engine/curve/cipher.hpp"

#include "engine/codec/zmtp3.hpp"
#include "engine/curve/counter.hpp"

#include <algorithm>
#include <cstring>
#include <sodium.h>
#include <string_view>

namespace zlink::engine::curve {
namespace {

// A sealed body: the name of the command, the counter, the authenticator, then the ciphertext of
// the flags and the body.
constexpr std::string_view command_name = "\7MESSAGE";
constexpr std::size_t mac_offset = command_name.size() + counter_bytes;
constexpr std::size_t text_offset = mac_offset + mac_bytes;
constexpr std::size_t body_offset = text_offset + 1;

constexpr std::string_view client_prefix = "CurveZMQMESSAGEC";
constexpr std::string_view server_prefix = "CurveZMQMESSAGES";

// A box takes the key of its authenticator from the first 32 bytes of the stream of Salsa20, and
// its ciphertext begins behind them: at the place where the text begins in a sealed body.
constexpr std::size_t block_bytes = 64;
static_assert(text_offset == crypto_onetimeauth_poly1305_KEYBYTES);
constexpr std::size_t first_block_body_bytes = block_bytes - body_offset;
// Bodies up to here are sealed in one call, for which they are copied.
constexpr std::size_t copied_bytes = 512;

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

unsigned char* raw(std::byte* bytes) noexcept
{
    return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* raw(const std::byte* bytes) noexcept
{
    return reinterpret_cast<const unsigned char*>(bytes);
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
    unsigned char* const at = raw(out.data());
    const unsigned char* const key = raw(keys_->sending.data());
    std::memset(at, 0, text_offset);
    at[text_offset] = inner_flags(flags);
    if (body.size() <= copied_bytes) {
        if (!body.empty()) // memcpy must not see null
            std::memcpy(at + body_offset, body.data(), body.size());
        crypto_stream_salsa20_xor(at, at, out.size(), raw(counter), key);
    } else {
        std::memcpy(at + body_offset, body.data(), first_block_body_bytes);
        crypto_stream_salsa20_xor(at, at, block_bytes, raw(counter), key);
        const auto rest = body.subspan(first_block_body_bytes);
        crypto_stream_salsa20_xor_ic(at + block_bytes, raw(rest.data()), rest.size(), raw(counter),
                                     1, key);
    }
    unsigned char mac_key[text_offset];
    std::memcpy(mac_key, at, sizeof mac_key);
    crypto_onetimeauth_poly1305(at + mac_offset, at + text_offset, out.size() - text_offset,
                                mac_key);
    base::wipe(mac_key, sizeof mac_key);
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
    unsigned char* const at = raw(body.data());
    const unsigned char* const nonce = at + command_name.size();
    const unsigned char* const key = raw(keys_->receiving.data());
    unsigned char first_block[block_bytes];
    crypto_stream_salsa20(first_block, sizeof first_block, nonce, key);
    const std::size_t text_bytes = body.size() - text_offset;
    const bool authentic = crypto_onetimeauth_poly1305_verify(at + mac_offset, at + text_offset,
                                                              text_bytes, first_block) == 0;
    if (authentic) {
        received_ = counter;
        const std::size_t in_first_block = std::min(text_bytes, block_bytes - text_offset);
        for (std::size_t i = 0; i < in_first_block; ++i)
            at[text_offset + i] ^= first_block[text_offset + i];
        if (text_bytes > in_first_block)
            crypto_stream_salsa20_xor_ic(at + block_bytes, at + block_bytes,
                                         text_bytes - in_first_block, nonce, 1, key);
    }
    base::wipe(first_block, sizeof first_block);
    if (!authentic)
        return {.fault = cipher_fault::not_authentic};
    return {.fault = cipher_fault::none,
            .flags = frame_flags(at[text_offset]),
            .body = body.subspan(body_offset)};
}

} // namespace zlink::engine::curve
