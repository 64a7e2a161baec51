// SPDX-License-Identifier: Apache-2.0
#include "engine/handshake/identity_exchange.hpp"

#include "engine/bytes.hpp"

#include <algorithm>

namespace zlink::engine {

void identity_exchange::append_own(std::vector<std::byte>& out,
                                   std::span<const std::byte> routing_id) const
{
    std::byte head[frame_codec::max_head_bytes];
    append_bytes(out, std::span(head, codec_->encode_head(head, 0, routing_id.size())));
    append_bytes(out, routing_id);
}

void identity_exchange::decode()
{
    refused_ =
        codec_->decode_head(raw_head_, raw_head_bytes_, head_) == frame_codec::decoded::no_frame;
    refused_ |= head_.body_bytes > max_bytes_;
}

std::size_t identity_exchange::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    while (!head_known() && !refused_ && taken < bytes.size()) {
        raw_head_[raw_head_bytes_++] = bytes[taken++];
        decode();
    }
    if (!head_known() || refused_)
        return taken;
    const auto missing = static_cast<std::size_t>(head_.body_bytes) - id_.size();
    const auto piece = bytes.subspan(taken, std::min(missing, bytes.size() - taken));
    id_ += as_text(piece);
    return taken + piece.size();
}

} // namespace zlink::engine
