// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/frames.hpp"
#include "worker/numbering.hpp"
#include "worker/settings.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace zlink::bench::worker {

/// Sends numbered messages of a fixed size to any sockets, from one thread. Throws `failure`.
class outbox {
public:
    explicit outbox(const settings& chosen)
        : calls_(chosen.what.api), timed_(is_timed(chosen.what)), body_(chosen.what.size_bytes, 'z')
    {}

    /// Blocks while the high-water mark is reached. `from_ns` is what a latency counts from, 0 if
    /// the message is not timed.
    void send(void* socket, message_number number, std::int64_t from_ns = 0)
    {
        const std::uint64_t bits = number.bits();
        std::memcpy(body_.data(), &bits, sizeof bits);
        if (timed_) {
            std::memcpy(body_.data() + sizeof bits, &from_ns, sizeof from_ns);
        }
        send_frame(calls_, socket, body_.data(), body_.size(), 0);
    }

    /// The same through a ROUTER to the peer with this routing id.
    void send_to(void* socket, std::string_view id, message_number number, std::int64_t from_ns = 0)
    {
        send_frame(calls_, socket, id.data(), id.size(), ZMQ_SNDMORE);
        send(socket, number, from_ns);
    }

private:
    api calls_;
    bool timed_;
    std::vector<char> body_;
};

} // namespace zlink::bench::worker
