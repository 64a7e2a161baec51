// SPDX-License-Identifier: Apache-2.0
#include "engine/identity_exchange.hpp"

#include "engine/bytes.hpp"

#include <algorithm>

namespace zlink::engine {

void identity_exchange::append_own(std::vector<std::byte>& out,
                                   std::span<const std::byte> routing_id) const
{
    std::byte header[zmtp1::max_header_bytes];
    const std::size_t header_bytes = framing_ == framing::zmtp1
                                         ? zmtp1::encode_header(header, false, routing_id.size())
                                         : zmtp3::encode_header(header, 0, routing_id.size());
    append_bytes(out, std::span(header, header_bytes));
    append_bytes(out, routing_id);
}

void identity_exchange::decode()
{
    if (framing_ == framing::zmtp1)
        refused_ = zmtp1::decode_header(raw_header_, raw_header_bytes_, header_) ==
                   zmtp1::decoded::no_frame;
    else
        zmtp3::decode_header(raw_header_, raw_header_bytes_, header_);
    refused_ |= header_.body_bytes > max_bytes_;
}

std::size_t identity_exchange::feed(std::span<const std::byte> bytes)
{
    std::size_t taken = 0;
    while (!header_known() && !refused_ && taken < bytes.size()) {
        raw_header_[raw_header_bytes_++] = bytes[taken++];
        decode();
    }
    if (!header_known() || refused_)
        return taken;
    const auto missing = static_cast<std::size_t>(header_.body_bytes) - id_.size();
    const auto piece = bytes.subspan(taken, std::min(missing, bytes.size() - taken));
    id_ += as_text(piece);
    return taken + piece.size();
}

} // namespace zlink::engine
