// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/handle.hpp"
#include "base/memory/lasting.hpp"
#include "base/system/no_cancellation.hpp"
#include "core/context/context.hpp"
#include "core/socket/socket_gate.hpp"

#include <cerrno>
#include <exception>
#include <memory>
#include <pthread.h>
#include <utility>
#include <vector>
#include <zmq.h>

namespace zlink::api {

/// What a socket handle stands for: the socket, and the context that keeps its threads.
struct socket_object {
    std::shared_ptr<core::socket> socket;
    std::shared_ptr<core::context> context;

    socket_object(std::shared_ptr<core::socket> its_socket,
                  std::shared_ptr<core::context> its_context) noexcept
        : socket(std::move(its_socket)), context(std::move(its_context))
    {}
    ~socket_object()
    {
        const base::no_cancellation whole;
        socket.reset();
        context.reset();
    }
    socket_object(const socket_object&) = delete;
    socket_object& operator=(const socket_object&) = delete;
};

template <>
inline constexpr std::size_t handle_limit<core::socket> = std::size_t{1} << 20;

using socket_table = handle_table<core::socket, core::socket_gate, socket_object>;

/// Lets a child process go on with a table that another thread had locked when it was forked, and
/// makes what the table holds inherited there: `function` returns it. Once, while the library is
/// loaded.
template <auto function>
bool keep_over_fork() noexcept
{
    const auto in_child = [] {
        function().disown();
        function().unlock();
    };
    return ::pthread_atfork([] { function().lock(); }, [] { function().unlock(); }, in_child) == 0;
}

// They are there before anything else in the library, and lasting: applications may leave sockets
// and contexts open until the process ends, and threads of theirs may still be in a call then.
extern base::lasting<handle_table<core::context>> all_contexts;
extern base::lasting<socket_table> all_sockets;

inline handle_table<core::context>& contexts() noexcept
{
    return all_contexts.value;
}
inline socket_table& sockets() noexcept
{
    return all_sockets.value;
}

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

/// The errno value for a handle in which `table` finds nothing: ETERM if it is inherited, as if its
/// context had been shut down, which programs take as the advice to close what they have; otherwise
/// `unknown`.
template <class Table>
[[gnu::cold]] int error_of(Table& table, const void* handle, int unknown) noexcept
{
    return table.is_inherited(handle) ? ETERM : unknown;
}
/// The result of a call that only ends something; for an inherited object that has been done.
template <class Table>
int unless_inherited(Table& table, const void* handle, int failed) noexcept
{
    return failed && errno == ETERM && table.is_inherited(handle) ? 0 : failed;
}
inline int no_socket(const void* handle) noexcept
{
    return error_of(sockets(), handle, ENOTSOCK);
}
inline int no_context(const void* handle) noexcept
{
    return error_of(contexts(), handle, EFAULT);
}

/// The errno value for the exception being handled.
int current_error() noexcept;

/// Is it the handle of a socket that many threads use at once?
inline bool is_shared(const void* handle) noexcept
{
    return socket_table::is_shared(handle);
}

/// The socket of a handle that belongs to one thread; null if it is none of these.
[[gnu::always_inline]] inline core::socket* unshared_socket(const void* handle) noexcept
{
    if (is_shared(handle)) [[unlikely]]
        return nullptr;
    return sockets().get(handle);
}

/// Runs `body(core::socket&)`, which returns an errno value or 0, and makes an errno value of what
/// it throws. Inlined, as calls that take tens of ns are made of it.
///
/// Where a body waits, the thread may be cancelled: then the stack is unwound through what is here
/// and in the function of the API, and nothing of that may be noexcept.
template <class Body>
[[gnu::always_inline]] inline int errno_of(core::socket& socket, Body& body)
{
    try {
        return body(socket);
    } catch (const std::exception&) {
        return current_error();
    } catch (...) { // the thread is cancelled: nothing else is thrown
        if (socket.has_waited())
            socket.end_waiting_call(0);
        throw;
    }
}

/// As with_socket(), for sockets with a gate. The body is not copied: a copy loads what was just
/// stored in other pieces, and so waits for all stores before, to memory that another processor
/// uses, too.
template <class Body>
[[gnu::noinline]] int with_shared_socket(void* handle, const Body& body)
{
    core::socket_gate* const gate = sockets().gate(handle);
    if (!gate)
        return fail(no_socket(handle));
    int error = ENOTSOCK;
    {
        const core::socket_gate::turn mine(*gate);
        if (core::socket* const socket = sockets().get(handle)) {
            error = errno_of(*socket, body);
            if (error == 0)
                socket->used();
        }
    }
    return result(error); // only now: ending the turn may end the socket
}

/// Runs `body(core::socket&)`, which returns an errno value or 0; nothing escapes as an exception,
/// but the cancellation of the thread. While the body waits other threads may use a shared socket,
/// and close any: it stays until the call has ended. A body that captures by value costs least.
template <class Body>
[[gnu::always_inline]] inline int with_socket(void* handle, Body body)
{
    if (is_shared(handle)) [[unlikely]]
        return with_shared_socket(handle, body);
    core::socket* const socket = sockets().get(handle);
    if (!socket) [[unlikely]]
        return fail(no_socket(handle));
    int error = errno_of(*socket, body);
    if (socket->has_waited()) [[unlikely]]
        error = socket->end_waiting_call(error);
    return result(error);
}

/// As with_socket(), with ETERM if the context is being terminated: that comes before what is wrong
/// with the arguments.
template <class Body>
int with_usable_socket(void* handle, Body body)
{
    return with_socket(handle, [&](core::socket& s) { return s.is_shut_down() ? ETERM : body(s); });
}

/// The socket of a handle, for a call that waits for several; null if there is none. `kept` gets
/// what keeps a shared one, which other threads may close meanwhile.
inline core::socket* socket_to_wait_for(const void* handle,
                                        std::vector<std::shared_ptr<socket_object>>& kept)
{
    if (!is_shared(handle))
        return sockets().get(handle);
    kept.push_back(sockets().share(handle));
    return kept.back() ? kept.back()->socket.get() : nullptr;
}

} // namespace zlink::api
