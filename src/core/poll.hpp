// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket.hpp"

#include <cstddef>
#include <poll.h>
#include <vector>

namespace zlink::core {

/// Waits for any of several sockets and file descriptors.
/// Thread safety: one thread, which must be the one that uses the sockets.
class poll_set {
public:
    explicit poll_set(std::size_t items);

    /// `wanted` and `ready` are ZMQ_POLL* bits; `ready` is written by wait().
    void add_socket(socket& polled, short wanted, short& ready);
    void add_descriptor(int fd, short wanted, short& ready);

    /// Sets `ready` to the number of items with events; 0 after the time-out. 0, ETERM or EINTR.
    int wait(long timeout_ms, int& ready);

private:
    struct socket_item {
        socket* polled;
        short wanted;
        short* ready;
        std::uint32_t signals = 0;
    };
    struct descriptor_item {
        short* ready;
    };

    int check_sockets(int& ready);
    int check_descriptors(int& ready, int timeout_ms);
    int sleep(base::deadline until, bool& timed_out);
    int sleep_on_descriptors(base::deadline until, bool& timed_out);

    std::vector<socket_item> sockets_;
    std::vector<descriptor_item> descriptors_;
    std::vector<pollfd> polled_; ///< of descriptors_, then of sockets
    std::vector<base::mailbox*> boxes_;
    base::waiter waiter_;
};

} // namespace zlink::core
