// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/handle.hpp"
#include "core/context.hpp"

#include <cerrno>
#include <new>
#include <system_error>

namespace zlink::api {

/// What a socket handle stands for: the socket, and the context that keeps its threads.
struct socket_object {
    std::shared_ptr<core::socket> socket;
    std::shared_ptr<core::context> context;
};

handle_table<core::context>& contexts() noexcept;
handle_table<socket_object>& sockets() noexcept;

/// Sets errno; the value C functions return on failure.
inline int fail(int error) noexcept
{
    errno = error;
    return -1;
}

/// 0 or, with errno set, -1.
inline int result(int error) noexcept
{
    return error ? fail(error) : 0;
}

/// Runs `body(core::socket&)`, which returns an errno value or 0; nothing escapes as an exception.
template <class Body>
int with_socket(void* handle, Body body) noexcept
{
    socket_object* const object = sockets().get(handle);
    if (!object) [[unlikely]]
        return fail(ENOTSOCK);
    try {
        const int error = body(*object->socket);
        return error ? fail(error) : 0;
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM);
    } catch (const std::system_error& failure) {
        return fail(failure.code().value());
    } catch (...) {
        return fail(EINVAL);
    }
}

} // namespace zlink::api
