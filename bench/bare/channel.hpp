// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/sockets.hpp"
#include "common/cell.hpp"

#include <chrono>
#include <cstddef>
#include <memory>

namespace zlink::bench::bare {

/// One end of a connection of bytes, without a messaging library.
///
/// Functions throw std::runtime_error or an exception derived from it. One thread at a time uses an
/// end; another one may call shut_down().
class channel {
public:
    channel() = default;
    virtual ~channel() = default;
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    /// How much is best written at a time, in bytes.
    virtual std::size_t piece_bytes() const = 0;

    /// Writes all of it.
    virtual void write_all(const char* data, std::size_t bytes) = 0;

    /// Waits for bytes, at most so many, and returns how many there are.
    virtual std::size_t read_some(char* data, std::size_t bytes) = 0;

    /// From now on this end does not sleep: it tries again and again, and yields after many tries
    /// in vain, as other programs may want the processor. Before the first byte.
    virtual void spin() = 0;

    /// Reads exactly so many.
    void read_all(char* data, std::size_t bytes);

    /// From now on try_read() and try_write() may be called, and calls of write_all() and
    /// read_some() may use up a processor while they wait.
    virtual void stop_waiting() = 0;

    /// Reads what there is without waiting, at most so many bytes, and returns how many. If they
    /// are fewer than asked for, nothing more is there.
    virtual std::size_t try_read(char* data, std::size_t bytes) = 0;

    /// Waits for bytes like read_some(), but first tries for so long without sleeping, and lets
    /// other threads run between the tries. For tcp and ipc.
    std::size_t read_soon(char* data, std::size_t bytes, std::chrono::nanoseconds tries_for);

    /// Writes what there is room for without waiting, and returns how much that is.
    virtual std::size_t try_write(const char* data, std::size_t bytes) = 0;

    /// The descriptor of the socket, for epoll.
    virtual int handle() const noexcept = 0;

    /// Makes both ends fail.
    virtual void shut_down() noexcept = 0;
};

struct connection {
    std::unique_ptr<channel> source;
    std::unique_ptr<channel> sink;
};

/// True for tcp and ipc, and for tls if the program was built with it.
bool can_connect(transport over);

/// The ends of a new connection: tcp on the loopback interface, ipc as a pair of sockets, tls over
/// tcp with its handshake done.
connection connect(transport over);

/// The end of a connection over a socket that is connected, over tcp or ipc.
std::unique_ptr<channel> make_channel(descriptor socket);

} // namespace zlink::bench::bare
