// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <zmq.h>

#if ZLINK_HAS_CURVE
#include "base/memory/secret.hpp"
#include "base/system/no_cancellation.hpp"
#include "engine/curve/box.hpp"
#include "engine/z85.hpp"

namespace zlink::api {
namespace {

namespace curve = engine::curve;

using engine::z85::key_digits;

void write_key(char* text, const std::byte* bytes)
{
    engine::z85::encode(text, reinterpret_cast<const std::uint8_t*>(bytes), curve::key_bytes);
}

int failed(int error)
{
    errno = error;
    return -1;
}

int make_pair(char* public_text, char* secret_text)
{
    if (!public_text || !secret_text)
        return failed(EINVAL);
    if (!curve::is_available())
        return failed(ENOTSUP);
    std::array<std::byte, curve::key_bytes> secret{};
    if (!curve::random_bytes(secret))
        return failed(errno);
    write_key(public_text, curve::public_key_of(secret).data());
    write_key(secret_text, secret.data());
    base::wipe(secret.data(), secret.size());
    return 0;
}

int make_public(char* public_text, const char* secret_text)
{
    if (!public_text || !secret_text || std::strlen(secret_text) != key_digits)
        return failed(EINVAL);
    if (!curve::is_available())
        return failed(ENOTSUP);
    std::array<std::byte, curve::key_bytes> secret{};
    const bool is_key = engine::z85::decode(reinterpret_cast<std::uint8_t*>(secret.data()),
                                            {secret_text, key_digits});
    if (is_key)
        write_key(public_text, curve::public_key_of(secret).data());
    base::wipe(secret.data(), secret.size());
    return is_key ? 0 : failed(EINVAL);
}

} // namespace
} // namespace zlink::api

int zmq_curve_keypair(char* z85_public_key, char* z85_secret_key)
{
    const zlink::base::no_cancellation whole;
    return zlink::api::make_pair(z85_public_key, z85_secret_key);
}

int zmq_curve_public(char* z85_public_key, const char* z85_secret_key)
{
    return zlink::api::make_public(z85_public_key, z85_secret_key);
}

#else

int zmq_curve_keypair(char*, char*)
{
    errno = ENOTSUP;
    return -1;
}

int zmq_curve_public(char*, const char*)
{
    errno = ENOTSUP;
    return -1;
}

#endif
