// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"
#include "worker/zmq_handles.hpp"

#include <zmq.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>

namespace zlink::bench::worker {

/// Sends one frame with zmq_msg_*, a new message each time. Throws `failure`.
void send_as_msg(void* socket, const void* data, std::size_t size, int flags);

/// Receives one frame and copies what `buffer` takes of it. Returns its full size, or nothing if
/// there is none and `flags` say not to wait. Throws `failure`, also if the frame is the last of
/// its message although more are expected, or the other way round.
std::optional<std::size_t> receive_as_msg(void* socket, std::span<char> buffer, int flags,
                                          bool more_expected);

/// Sends one frame. Throws `failure`.
inline void send_frame(api calls, void* socket, const void* data, std::size_t size, int flags)
{
    if (calls == api::msg) {
        return send_as_msg(socket, data, size, flags);
    }
    checked(zmq_send(socket, data, size, flags), "zmq_send");
}

/// Receives one frame, which has to be there if `flags` say not to wait. With zmq_recv what follows
/// it is not looked at.
inline std::size_t receive_frame(api calls, void* socket, std::span<char> buffer, int flags,
                                 bool more_expected)
{
    if (calls == api::msg) {
        const auto size = receive_as_msg(socket, buffer, flags, more_expected);
        return size ? *size : throw failure("there is no message");
    }
    // zmq_recv returns the full size even if the frame did not fit.
    return static_cast<std::size_t>(
        checked(zmq_recv(socket, buffer.data(), buffer.size(), flags), "zmq_recv"));
}

/// The same, but returns nothing if there is none and `flags` say not to wait.
inline std::optional<std::size_t> try_receive_frame(api calls, void* socket, std::span<char> buffer,
                                                    int flags, bool more_expected)
{
    if (calls == api::msg) {
        return receive_as_msg(socket, buffer, flags, more_expected);
    }
    const int size = zmq_recv(socket, buffer.data(), buffer.size(), flags);
    if (size == -1) {
        if (zmq_errno() == EAGAIN && (flags & ZMQ_DONTWAIT) != 0) {
            return std::nullopt;
        }
        throw_zmq_error("zmq_recv");
    }
    return static_cast<std::size_t>(size);
}

} // namespace zlink::bench::worker
