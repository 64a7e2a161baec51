// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/pace/blocking_wait.hpp"
#include "core/wait/wait_set.hpp"

#include <csignal>
#include <cstddef>
#include <poll.h>
#include <vector>

namespace zlink::core {

/// Waits for any of several sockets and file descriptors.
/// Thread safety: one thread, which must be the one that uses the sockets; thread-safe sockets may
/// be in use by others.
/// Lifetime: the sockets outlive the object. Thread-safe ones may be closed meanwhile; others too,
/// which ends them with this object.
class poll_set {
public:
    explicit poll_set(std::size_t items);
    poll_set(const poll_set&) = delete;
    poll_set& operator=(const poll_set&) = delete;

    /// `wanted` and `ready` are ZMQ_POLL* bits; `ready` is written by wait().
    void add_socket(socket& polled, short wanted, short& ready);
    void add_descriptor(int fd, short wanted, short& ready);

    /// Sets `ready` to the number of items with events; 0 after the time-out. Once. 0, ETERM,
    /// EINTR, ENOTSOCK (a socket was closed), or the errno of poll(2).
    /// With a signal mask, that is in force while it sleeps (and only then).
    int wait(long timeout_ms, int& ready, const sigset_t* mask = nullptr);

private:
    struct socket_item {
        socket* polled;
        short wanted;
        short* ready;
        wait_mark mark;
    };
    struct descriptor_item {
        short* ready;
    };

    base::poll_answer poll(int& ready);
    int check_sockets(int& ready, std::uint32_t& mail);
    int check_descriptors(int& ready);
    bool watch(const sigset_t* mask);
    void flush() noexcept;

    std::vector<socket_item> sockets_;
    std::vector<descriptor_item> descriptors_;
    std::vector<pollfd> polled_; ///< of descriptors_
    wait_set sleeper_;           ///< has the sockets once it watches them
    bool watching_ = false;
};

} // namespace zlink::core
