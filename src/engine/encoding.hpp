// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/framing.hpp"
#include "engine/write_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace zlink::engine {

/// A frame as it lies in a channel, on its way to a connection.
struct queued_frame {
    std::uint8_t flags;
    std::span<const std::byte> body;
    base::buffer* owner;    ///< what the body lies in, if it may be referred to; else null
    std::uint64_t position; ///< of the frame, in the channel
};

/// How the frames of a channel are written to a connection that does not take them as they lie
/// there. `translate` is called for one frame after the other and appends what is to be sent;
/// nothing = the frame is left out. Frames are never seen in part.
struct encoding {
    using function = void (*)(write_batch& out, const queued_frame& frame, const void* context);

    function translate = nullptr; ///< null: as they lie in the channel
    const void* context = nullptr;
    bool batches = true; ///< the sending thread may collect what follows quickly
    bool frames = true;  ///< false: the channel holds the bytes that are to be sent, no headers

    explicit operator bool() const noexcept { return translate != nullptr; }
};

/// Appends the header of a message frame.
void append_header(write_batch& out, framing frames, bool more, std::uint64_t body_bytes);
/// Appends a whole message frame.
void append_frame(write_batch& out, framing frames, const queued_frame& frame);

/// Appends a whole command frame of ZMTP 3.
void append_command(write_batch& out, const queued_frame& frame);
/// Appends the message by which peers older than ZMTP 3.1 are told of a subscription: byte 1
/// (subscribe) or 0 (cancel), and the topic.
void append_subscription(write_batch& out, framing frames, bool subscribe,
                         std::span<const std::byte> topic);

/// What a subscriber to everything would send in ZMTP 1.0.
inline constexpr std::byte subscription_to_all_of_zmtp1[] = {std::byte{2}, std::byte{0},
                                                             std::byte{1}};

/// Messages to a peer of ZMTP 1.0.
encoding zmtp1_encoding() noexcept;
/// A channel of plain bytes, for a peer that knows nothing of frames.
encoding raw_encoding() noexcept;

} // namespace zlink::engine
