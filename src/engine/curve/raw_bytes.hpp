// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zlink::engine::curve {

/// Bytes as libsodium and OpenSSL take them.
inline unsigned char* raw(std::byte* bytes) noexcept
{
    return reinterpret_cast<unsigned char*>(bytes);
}
inline const unsigned char* raw(const std::byte* bytes) noexcept
{
    return reinterpret_cast<const unsigned char*>(bytes);
}

} // namespace zlink::engine::curve
