// SPDX-License-Identifier: Apache-2.0
#include "worker/frames.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::bench::worker {

void send_as_msg(void* socket, const void* data, std::size_t size, int flags)
{
    zmq_msg_t message;
    checked(zmq_msg_init_size(&message, size), "zmq_msg_init_size");
    std::memcpy(zmq_msg_data(&message), data, size);
    if (zmq_msg_send(&message, socket, flags) == -1) {
        zmq_msg_close(&message);
        throw_zmq_error("zmq_msg_send");
    }
}

std::optional<std::size_t> receive_as_msg(void* socket, std::span<char> buffer, int flags,
                                          bool more_expected)
{
    zmq_msg_t message;
    checked(zmq_msg_init(&message), "zmq_msg_init");
    const int size = zmq_msg_recv(&message, socket, flags);
    if (size == -1) {
        const bool none = zmq_errno() == EAGAIN && (flags & ZMQ_DONTWAIT) != 0;
        zmq_msg_close(&message);
        if (none) {
            return std::nullopt;
        }
        throw_zmq_error("zmq_msg_recv");
    }
    const bool framed_well = (zmq_msg_more(&message) != 0) == more_expected;
    std::memcpy(buffer.data(), zmq_msg_data(&message),
                std::min(static_cast<std::size_t>(size), buffer.size()));
    zmq_msg_close(&message);
    if (!framed_well) {
        throw failure("a message arrived with a wrong number of frames");
    }
    return static_cast<std::size_t>(size);
}

} // namespace zlink::bench::worker
