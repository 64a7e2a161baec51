// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace zlink::engine {

/// Where messages to many peers are encoded once, as they lie in queues: those refer to the same
/// bytes.
/// Memory: a chunk is kept until the last queue has passed on what it has there.
/// Thread safety: one thread at a time.
class fan_out_log {
public:
    struct part {
        std::uint8_t flags;
        std::span<const std::byte> body;
    };
    /// A whole message in the log, until the next one is added.
    struct entry {
        base::buffer* chunk = nullptr; ///< null = it cannot be added
        std::byte* at = nullptr;
        std::size_t bytes = 0;
    };

    entry add(std::initializer_list<part> parts) noexcept;

private:
    base::buffer_ref chunk_;
    std::size_t used_bytes_ = 0;
};

} // namespace zlink::engine
