// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/codec/websocket.hpp"
#include "engine/wire/frame_codec.hpp"

#include <atomic>

namespace zlink::engine {

/// Frames as the binary messages of a WebSocket. With ZWS 2.0 (RFC 45) the payload is a byte of
/// flags and the body; for peers that speak no protocol on the WebSocket it is the body alone, and
/// the flags of a frame are lost. PING and PONG, which carry no time to live here, and the end of
/// the connection are control frames of the WebSocket.
///
/// The side that has connected masks what it sends, so that its bodies are copied; the other one
/// must not. A peer may send a message in fragments; with ZWS, those that come empty before the
/// one with the flags are control frames that say nothing to the layers above. Text messages are
/// refused.
///
/// One object for each connection, see frame_codec.
class websocket_codec final : public frame_codec, private run_codec {
public:
    enum class side : std::uint8_t {
        client, ///< has connected: masks, and its peer does not
        server,
    };
    enum class payload : std::uint8_t {
        zws,       ///< a byte of flags, and the body
        body_only, ///< perhaps empty
    };
    explicit websocket_codec(side which, payload what = payload::zws) noexcept
        : frame_codec({.max_context_bytes = longest_context_bytes,
                       .sent_bodies = which == side::client ? &sent_ : nullptr,
                       .received_bodies = which == side::client ? nullptr : &received_,
                       .runs = this}),
          masks_(which == side::client),
          flags_bytes_(what == payload::zws ? 1 : 0)
    {}

    std::size_t head_bytes(std::uint64_t body_bytes) const noexcept override;
    std::size_t encode_head(std::byte* out, std::uint8_t flags,
                            std::uint64_t body_bytes) noexcept override;
    decoded decode_head(const std::byte* at, std::size_t available,
                        frame_head& head) noexcept override;
    bool encode_control(std::vector<std::byte>& out, const traffic_command& command) override;
    traffic_command decode_control(std::span<const std::byte> body) noexcept override;
    void encode_farewell(std::vector<std::byte>& out, farewell why) override;

private:
    /// That of the frame whose head was encoded or decoded last.
    class key_mask final : public body_mask {
    public:
        void apply(std::span<const std::byte> body, std::byte* to) noexcept override;

        websocket::mask_key key{};
        std::size_t before = 0; ///< bytes of the payload that are part of the head
    };
    /// What the first byte of a frame says.
    struct frame_kind {
        std::uint8_t opcode;
        bool is_control;
        bool continues; ///< it is a fragment, and not the last one
        bool has_flags; ///< its payload begins with them, unless it is empty
    };

    frame_run encode_run(std::span<const std::byte> frames, std::span<std::byte> out,
                         std::span<message_end> ends) noexcept override;
    frame_run decode_run(std::span<const std::byte> bytes, std::span<std::byte> out,
                         std::uint64_t max_body_bytes) noexcept override;
    std::size_t put_head(std::byte* out, std::uint8_t flags, std::uint64_t body_bytes,
                         const websocket::mask_key& key) const noexcept;
    void append_control(std::vector<std::byte>& out, std::uint8_t opcode,
                        std::span<const std::byte> payload) const;
    decoded refuse(std::uint16_t close_code) noexcept;
    bool may_begin_with(std::uint8_t first) noexcept;
    frame_kind kind_of(std::uint8_t first) const noexcept;
    bool may_have_length(const frame_kind& kind, std::uint8_t second) const noexcept;
    frame_head begin_body(const frame_kind& kind, const websocket::frame_header& header,
                          std::size_t flags_bytes) noexcept;

    const bool masks_;
    const std::size_t flags_bytes_; ///< of each payload
    key_mask sent_;

    // decoding
    key_mask received_;
    std::uint8_t control_ = 0;  ///< opcode of the head decoded last, if that of a control frame
    bool in_fragments_ = false; ///< the frame of a message that is not the last came
    bool awaits_flags_ = false; ///< those that came of it were empty
    std::uint8_t fragment_flags_ = 0;
    /// For the close frame that answers what was decoded: set by who reads, used by who writes.
    std::atomic<std::uint16_t> close_code_{websocket::close_protocol_error};
};

} // namespace zlink::engine
