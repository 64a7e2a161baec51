// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/codec/zmtp1.hpp"
#include "engine/framing.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace zlink::engine {

/// How peers older than ZMTP 3.0 introduce themselves after the greeting: each side sends its
/// routing id in a frame (RFC 13, RFC 15). The flags of that frame mean nothing.
///
/// Thread safety: distinct objects: safe; shared objects: unsafe.
/// Errors: values; only memory exhaustion throws (std::bad_alloc).
/// Memory: at most the largest id allowed.
class identity_exchange {
public:
    /// Ids above `max_bytes` are refused, at sight of the header.
    identity_exchange(framing frames, std::size_t max_bytes) noexcept
        : framing_(frames), max_bytes_(max_bytes)
    {}

    /// Appends the own frame to `out`.
    void append_own(std::vector<std::byte>& out, std::span<const std::byte> routing_id) const;

    /// Takes bytes up to the end of the peer's frame, or up to the byte that makes it unacceptable;
    /// returns how many.
    std::size_t feed(std::span<const std::byte> bytes);

    bool complete() const noexcept
    {
        return header_known() && !refused_ && id_.size() == header_.body_bytes;
    }
    /// Is it no frame, or too long an id? Final.
    bool refused() const noexcept { return refused_; }
    /// The peer's routing id; meaningful once complete.
    const std::string& routing_id() const noexcept { return id_; }

    /// Bytes kept so far, header included.
    std::size_t buffered_bytes() const noexcept { return raw_header_bytes_ + id_.size(); }

private:
    bool header_known() const noexcept { return header_.header_bytes != 0; }
    void decode();

    framing framing_;
    std::size_t max_bytes_;
    std::byte raw_header_[zmtp1::max_header_bytes]{};
    std::size_t raw_header_bytes_ = 0;
    zmtp3::frame_header header_{};
    bool refused_ = false;
    std::string id_;
};

} // namespace zlink::engine
