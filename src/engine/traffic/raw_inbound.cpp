// SPDX-License-Identifier: Apache-2.0
#include "engine/traffic/raw_inbound.hpp"

#include "base/tuning.hpp"

#include "engine/codec/zmtp3.hpp"

#include <algorithm>

namespace zlink::engine {
namespace {

constexpr std::size_t header_bytes = zmtp3::long_header_bytes;

} // namespace

raw_inbound::raw_inbound(base::channel& to, std::size_t chunk_bytes) noexcept
    : decoder(to),
      chunk_bytes_(
          std::clamp(chunk_bytes, std::size_t{1}, tuning::reading::max_read_bytes - header_bytes))
{}

// Each entry has room for the header of its message in front, which is written once its size is
// known: in the LONG form, so that it does not matter how large that is.
int raw_inbound::prepare(std::span<iovec> space) noexcept
{
    base::byte_queue& queue = to_.queue;
    std::byte* at =
        queue.reserve(header_bytes + std::min(chunk_bytes_, read_size_.least_room_bytes()));
    if (!at)
        return 0;
    std::size_t room = queue.room();
    std::size_t count = 0;
    const std::size_t want = read_size_.bytes();
    std::size_t offered = 0;
    while (count < space.size() && room > header_bytes && offered < want) {
        const std::size_t bytes = std::min({chunk_bytes_, room - header_bytes, want - offered});
        space[count++] = {at + header_bytes, bytes};
        at += header_bytes + bytes;
        room -= header_bytes + bytes;
        offered += bytes;
    }
    read_size_.offered(offered);
    return static_cast<int>(count);
}

inbound_error raw_inbound::received(std::size_t bytes)
{
    read_size_.received(bytes);
    base::byte_queue& queue = to_.queue;
    std::uint64_t messages = 0;
    for (; bytes > 0; ++messages) {
        const std::size_t body_bytes = std::min(bytes, chunk_bytes_);
        zmtp3::encode_long_header(queue.tail(), 0, body_bytes);
        queue.advance(header_bytes + body_bytes);
        bytes -= body_bytes;
    }
    if (messages > 0) {
        to_.credit.add_sent(messages);
        wake_consumer_ |= queue.commit(messages);
    }
    return inbound_error::none;
}

} // namespace zlink::engine
