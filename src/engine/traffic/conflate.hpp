// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/memory/buffer.hpp"
#include "base/queue/byte_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::engine {

/// Copies one frame, header included, to memory of its own; empty when memory is exhausted.
base::buffer_ref copy_frame(std::uint8_t flags, std::span<const std::byte> body) noexcept;

/// A frame that copy_frame() made.
struct copied_frame {
    std::uint8_t flags = 0;
    std::size_t total_bytes = 0; ///< header and body
    std::span<const std::byte> body;
};
/// Looks into `copy`; valid as long as that is.
copied_frame view_frame(const base::buffer& copy) noexcept;

struct newest_frame {
    base::buffer_ref copy;      ///< empty if there was none, or memory is exhausted
    std::uint64_t messages = 0; ///< whole messages taken out of the queue
};
/// Empties `queue`, which holds whole messages, and copies the last frame of the last message.
/// Call it as the consumer of the queue.
newest_frame take_newest(base::byte_queue& queue) noexcept;

} // namespace zlink::engine
