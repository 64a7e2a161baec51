// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

namespace zlink::test {

/// A body that tells its number all over, so that one whose pieces come from several is noticed.
inline std::string body_of(unsigned number, std::size_t bytes)
{
    std::string body(bytes, static_cast<char>('a' + number % 26));
    for (std::size_t i = 0; i + sizeof number <= bytes; i += 1000)
        std::memcpy(&body[i], &number, sizeof number);
    return body;
}

} // namespace zlink::test
