// SPDX-License-Identifier: Apache-2.0
#include "engine/z85.hpp"

#include <array>
#include <limits>
#include <optional>

namespace zlink::engine::z85 {
namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::uint32_t radix = 85;
constexpr std::uint8_t no_digit = 0xFF;

static_assert(alphabet.size() == radix);

constexpr std::array<std::uint8_t, 256> make_digit_values()
{
    std::array<std::uint8_t, 256> values{};
    values.fill(no_digit);
    for (std::size_t value = 0; value < alphabet.size(); ++value) {
        values[static_cast<unsigned char>(alphabet[value])] = static_cast<std::uint8_t>(value);
    }
    return values;
}

constexpr auto digit_values = make_digit_values();

void encode_group(char* out, const std::uint8_t* in)
{
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < group_bytes; ++i) {
        value = value << 8 | in[i];
    }
    for (std::size_t i = group_digits; i-- > 0;) {
        out[i] = alphabet[value % radix];
        value /= radix;
    }
}

/// The 32-bit value of five digits; nothing for a foreign character or a larger value.
std::optional<std::uint32_t> group_value(const char* in)
{
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < group_digits; ++i) {
        const auto digit = digit_values[static_cast<unsigned char>(in[i])];
        if (digit == no_digit) {
            return std::nullopt;
        }
        value = value * radix + digit;
    }
    if (value > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(value);
}

bool decode_group(std::uint8_t* out, const char* in)
{
    auto value = group_value(in);
    if (!value) {
        return false;
    }
    for (std::size_t i = group_bytes; i-- > 0;) {
        out[i] = static_cast<std::uint8_t>(*value & 0xFF);
        *value >>= 8;
    }
    return true;
}

} // namespace

void encode(char* out, const std::uint8_t* bytes, std::size_t size) noexcept
{
    for (std::size_t group = 0; group < size / group_bytes; ++group)
        encode_group(out + group * group_digits, bytes + group * group_bytes);
    out[size / group_bytes * group_digits] = '\0';
}

bool decode(std::uint8_t* out, std::string_view text) noexcept
{
    for (std::size_t group = 0; group < text.size() / group_digits; ++group)
        if (!decode_group(out + group * group_bytes, text.data() + group * group_digits))
            return false;
    return true;
}

} // namespace zlink::engine::z85
