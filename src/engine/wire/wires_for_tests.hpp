// SPDX-License-Identifier: Apache-2.0
#pragma once

#if ZLINK_HAS_CURVE
#include "engine/curve/cipher.hpp"
#endif
#include "engine/wire/toy_wire_for_tests.hpp"
#include "engine/wire/websocket_codec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>

namespace zlink::test {

#if ZLINK_HAS_CURVE
/// The cipher of CURVE, of whose ends one only seals and the other one only opens: the same for
/// both, with the key that each connection has here.
class one_way_curve final : public engine::frame_cipher {
public:
    std::size_t sealed_bytes(std::size_t plain_bytes) const noexcept override
    {
        return sealing_.sealed_bytes(plain_bytes);
    }
    std::uint8_t outer_flags(std::uint8_t flags) const noexcept override
    {
        return sealing_.outer_flags(flags);
    }
    bool seal(std::uint8_t flags, std::span<const std::byte> body,
              std::span<std::byte> out) noexcept override
    {
        return sealing_.seal(flags, body, out);
    }
    opened open(std::uint8_t flags, std::span<std::byte> body) noexcept override
    {
        return opening_.open(flags, body);
    }

private:
    using curve = engine::curve::cipher;
    static constexpr std::array<std::byte, engine::curve::key_bytes> key{std::byte{1}};

    curve sealing_{curve::role::client, key, 0, 0};
    curve opening_{curve::role::server, key, 0, 0};
};
#endif

/// The two codecs of one_way_websocket.
struct websocket_ends {
    using codec = engine::websocket_codec;

    explicit websocket_ends(codec::side which)
        : encoding(which),
          decoding(which == codec::side::client ? codec::side::server : codec::side::client)
    {}

    codec encoding;
    codec decoding;
};

/// The codec of a WebSocket, of whose two ends one only encodes and the other one only decodes:
/// both are made alike, though on a real connection they are different sides.
class one_way_websocket final : private websocket_ends,
                                private engine::run_codec,
                                public engine::frame_codec {
public:
    /// `which`: the side whose frames these are. Those of the client are masked.
    explicit one_way_websocket(codec::side which)
        : websocket_ends(which),
          frame_codec({.max_context_bytes = encoding.traits().max_context_bytes,
                       .sent_bodies = encoding.traits().sent_bodies,
                       .received_bodies = decoding.traits().received_bodies,
                       .runs = this})
    {}

    std::size_t head_bytes(std::uint64_t body_bytes) const noexcept override
    {
        return encoding.head_bytes(body_bytes);
    }
    std::size_t encode_head(std::byte* out, std::uint8_t flags,
                            std::uint64_t body_bytes) noexcept override
    {
        return encoding.encode_head(out, flags, body_bytes);
    }
    decoded decode_head(const std::byte* at, std::size_t available,
                        engine::frame_head& head) noexcept override
    {
        return decoding.decode_head(at, available, head);
    }
    bool encode_control(std::vector<std::byte>& out,
                        const engine::traffic_command& command) override
    {
        return encoding.encode_control(out, command);
    }
    engine::traffic_command decode_control(std::span<const std::byte> body) noexcept override
    {
        return decoding.decode_control(body);
    }
    void encode_farewell(std::vector<std::byte>& out, engine::farewell why) override
    {
        encoding.encode_farewell(out, why);
    }

private:
    engine::frame_run encode_run(std::span<const std::byte> frames, std::span<std::byte> out,
                                 std::span<engine::message_end> ends) noexcept override
    {
        return encoding.traits().runs->encode_run(frames, out, ends);
    }
    engine::frame_run decode_run(std::span<const std::byte> bytes, std::span<std::byte> out,
                                 std::uint64_t max_body_bytes) noexcept override
    {
        return decoding.traits().runs->decode_run(bytes, out, max_body_bytes);
    }
};

/// The wires that the tests go through.
enum class wire_kind {
    zmtp3,
    zmtp2,
    zmtp1,
    toy_cipher,
    toy_codec,
    toy_both,
    websocket_masked,   ///< what the side that has connected sends
    websocket_unmasked, ///< what the other side sends
    curve,
};

inline constexpr wire_kind all_wires[] = {
    wire_kind::zmtp3,
    wire_kind::zmtp2,
    wire_kind::zmtp1,
    wire_kind::toy_cipher,
    wire_kind::toy_codec,
    wire_kind::toy_both,
    wire_kind::websocket_masked,
    wire_kind::websocket_unmasked,
#if ZLINK_HAS_CURVE
    wire_kind::curve,
#endif
};

/// Is it one with the frames of a WebSocket?
inline bool is_websocket(wire_kind kind) noexcept
{
    return kind == wire_kind::websocket_masked || kind == wire_kind::websocket_unmasked;
}

/// One end of a connection; each has a wire of its own.
inline engine::wire make_wire(wire_kind kind)
{
    engine::wire how;
    if (kind == wire_kind::zmtp2)
        how.codec = engine::zmtp2_codec();
    if (kind == wire_kind::zmtp1)
        how.codec = engine::zmtp1_codec();
    if (kind == wire_kind::toy_codec || kind == wire_kind::toy_both)
        how.codec = std::make_shared<toy_codec>();
    if (is_websocket(kind))
        how.codec = std::make_shared<one_way_websocket>(
            kind == wire_kind::websocket_masked ? engine::websocket_codec::side::client
                                                : engine::websocket_codec::side::server);
    if (kind == wire_kind::toy_cipher || kind == wire_kind::toy_both)
        how.cipher = std::make_shared<toy_cipher>();
#if ZLINK_HAS_CURVE
    if (kind == wire_kind::curve)
        how.cipher = std::make_shared<one_way_curve>();
#endif
    return how;
}

/// Does the wire carry commands?
inline bool has_commands(wire_kind kind) noexcept
{
    return kind != wire_kind::zmtp1 && kind != wire_kind::zmtp2;
}

inline std::ostream& operator<<(std::ostream& out, wire_kind kind)
{
    constexpr const char* names[] = {"zmtp3",
                                     "zmtp2",
                                     "zmtp1",
                                     "toy_cipher",
                                     "toy_codec",
                                     "toy_both",
                                     "websocket_masked",
                                     "websocket_unmasked",
                                     "curve"};
    return out << names[static_cast<int>(kind)];
}

} // namespace zlink::test
