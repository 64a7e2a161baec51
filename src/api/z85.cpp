// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <zmq.h>

namespace zlink::api {
namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr std::uint32_t radix = 85;
constexpr std::size_t group_bytes = 4;
constexpr std::size_t group_digits = 5;
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
} // namespace zlink::api

char* zmq_z85_encode(char* dest, const uint8_t* data, size_t size)
{
    using namespace zlink::api;
    if (dest == nullptr || (data == nullptr && size != 0) || size % group_bytes != 0) {
        errno = EINVAL;
        return nullptr;
    }
    const auto groups = size / group_bytes;
    for (std::size_t group = 0; group < groups; ++group) {
        encode_group(dest + group * group_digits, data + group * group_bytes);
    }
    dest[groups * group_digits] = '\0';
    return dest;
}

uint8_t* zmq_z85_decode(uint8_t* dest, const char* string)
{
    using namespace zlink::api;
    const auto digits = string == nullptr ? 0 : std::strlen(string);
    if (dest == nullptr || digits == 0 || digits % group_digits != 0) {
        errno = EINVAL;
        return nullptr;
    }
    const auto groups = digits / group_digits;
    for (std::size_t group = 0; group < groups; ++group) {
        if (!decode_group(dest + group * group_bytes, string + group * group_digits)) {
            errno = EINVAL;
            return nullptr;
        }
    }
    return dest;
}
