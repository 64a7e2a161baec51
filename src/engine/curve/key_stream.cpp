// SPDX-License-Identifier: Apache-2.0
#include "engine/curve/key_stream.hpp"

#include "engine/curve/raw_bytes.hpp"

#include <cstring>
#include <sodium.h>

namespace zlink::engine::curve {
namespace {

void apply_at_once(std::byte* out, const std::byte* in, std::size_t bytes, const std::byte* counter,
                   std::uint64_t block, const std::array<std::byte, key_bytes>& key) noexcept
{
    crypto_stream_salsa20_xor_ic(raw(out), raw(in), bytes, raw(counter), block, raw(key.data()));
}

} // namespace

void key_stream::apply(std::byte* out, const std::byte* in, std::size_t bytes,
                       std::uint64_t first_block) const noexcept
{
    const std::size_t rest = bytes % piece_bytes;
    const std::size_t whole = bytes - rest;
    if (whole > 0)
        apply_at_once(out, in, whole, counter_, first_block, key_);
    if (rest == 0)
        return;
    const std::uint64_t block = first_block + whole / block_bytes;
    if (rest <= block_bytes) {
        apply_at_once(out + whole, in + whole, rest, counter_, block, key_);
        return;
    }
    std::array<std::byte, piece_bytes> piece{};
    std::memcpy(piece.data(), in + whole, rest);
    const std::size_t made = rest <= piece.size() / 2 ? piece.size() / 2 : piece.size();
    apply_at_once(piece.data(), piece.data(), made, counter_, block, key_);
    std::memcpy(out + whole, piece.data(), rest);
}

} // namespace zlink::engine::curve
