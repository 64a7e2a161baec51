// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/wire/frame_codec.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
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
    identity_exchange(std::shared_ptr<frame_codec> codec, std::size_t max_bytes) noexcept
        : codec_(std::move(codec)), max_bytes_(max_bytes)
    {}

    /// Appends the own frame to `out`.
    void append_own(std::vector<std::byte>& out, std::span<const std::byte> routing_id) const;

    /// Takes bytes up to the end of the peer's frame, or up to the byte that makes it unacceptable;
    /// returns how many.
    std::size_t feed(std::span<const std::byte> bytes);

    bool complete() const noexcept
    {
        return head_known() && !refused_ && id_.size() == head_.body_bytes;
    }
    /// Is it no frame, or too long an id? Final.
    bool refused() const noexcept { return refused_; }
    /// The peer's routing id; meaningful once complete.
    const std::string& routing_id() const noexcept { return id_; }

    /// Bytes kept so far, the head included.
    std::size_t buffered_bytes() const noexcept { return raw_head_bytes_ + id_.size(); }

private:
    bool head_known() const noexcept { return head_.head_bytes != 0; }
    void decode();

    std::shared_ptr<frame_codec> codec_;
    std::size_t max_bytes_;
    std::byte raw_head_[frame_codec::max_head_bytes]{};
    std::size_t raw_head_bytes_ = 0;
    frame_head head_{};
    bool refused_ = false;
    std::string id_;
};

} // namespace zlink::engine
