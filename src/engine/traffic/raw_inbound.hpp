// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/traffic/decoder.hpp"
#include "engine/traffic/read_size.hpp"

namespace zlink::engine {

/// Receives plain bytes: each message is a chunk of what was read, in the memory it was read into.
/// One read may fill several.
class raw_inbound final : public decoder {
public:
    /// No message is larger than `chunk_bytes` (at least 1; values above 64 KiB count as that).
    raw_inbound(base::channel& to, std::size_t chunk_bytes) noexcept;

    int prepare(std::span<iovec> space) noexcept override;
    inbound_error received(std::size_t bytes) override;
    void reset() noexcept override {}

private:
    const std::size_t chunk_bytes_;
    read_size read_size_;
};

} // namespace zlink::engine
