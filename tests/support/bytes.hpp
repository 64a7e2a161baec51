// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace zlink::test {

/// The bytes of a text, which has to outlive them.
inline std::span<const std::byte> bytes_of(std::string_view text)
{
    return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string text_of(std::span<const std::byte> bytes)
{
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What an exchange or a handshake has to send now, which it does not have any more afterwards.
template <class Exchange>
std::string take_output(Exchange& from)
{
    std::string text = text_of(from.output());
    from.consume_output(text.size());
    return text;
}

} // namespace zlink::test
