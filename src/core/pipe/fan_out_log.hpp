// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "core/pipe/frame.hpp"

#include <cstddef>
#include <span>

namespace zlink::core {

/// Where messages to many peers are written once, as they go to the pipes: those refer to the same
/// bytes.
/// Memory: a chunk is kept until the last pipe has passed on what it has there.
/// Thread safety: the socket's thread only.
class fan_out_log {
public:
    /// A whole message in the log, until the next one is added.
    struct entry {
        base::buffer* chunk = nullptr; ///< null = it cannot be added
        std::byte* at = nullptr;
        std::size_t bytes = 0;
    };

    entry add(std::span<const frame> parts) noexcept;

private:
    base::buffer_ref chunk_;
    std::size_t used_bytes_ = 0;
};

} // namespace zlink::core
