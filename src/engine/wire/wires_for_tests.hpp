// SPDX-License-Identifier: Apache-2.0
#pragma once

#if ZLINK_HAS_CURVE
#include "engine/curve/cipher.hpp"
#endif
#include "engine/wire/toy_wire_for_tests.hpp"

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

/// The wires that the tests go through.
enum class wire_kind { zmtp3, zmtp2, zmtp1, toy_cipher, toy_codec, toy_both, curve };

inline constexpr wire_kind all_wires[] = {
    wire_kind::zmtp3,      wire_kind::zmtp2,     wire_kind::zmtp1,
    wire_kind::toy_cipher, wire_kind::toy_codec, wire_kind::toy_both,
#if ZLINK_HAS_CURVE
    wire_kind::curve,
#endif
};

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
    constexpr const char* names[] = {"zmtp3",     "zmtp2",    "zmtp1", "toy_cipher",
                                     "toy_codec", "toy_both", "curve"};
    return out << names[static_cast<int>(kind)];
}

} // namespace zlink::test
