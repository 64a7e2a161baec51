// SPDX-License-Identifier: Apache-2.0
#include "engine/z85.hpp"

#include <cerrno>
#include <cstring>

#include <zmq.h>

namespace z85 = zlink::engine::z85;

char* zmq_z85_encode(char* dest, const uint8_t* data, size_t size)
{
    if (dest == nullptr || (data == nullptr && size != 0) || size % z85::group_bytes != 0) {
        errno = EINVAL;
        return nullptr;
    }
    z85::encode(dest, data, size);
    return dest;
}

uint8_t* zmq_z85_decode(uint8_t* dest, const char* string)
{
    const auto digits = string == nullptr ? 0 : std::strlen(string);
    if (dest == nullptr || digits == 0 || digits % z85::group_digits != 0 ||
        !z85::decode(dest, {string, digits})) {
        errno = EINVAL;
        return nullptr;
    }
    return dest;
}
