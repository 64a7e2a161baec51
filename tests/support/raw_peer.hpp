// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "support/endpoint.hpp"
#include "support/wait.hpp"

namespace zlink::test {

/// A connection of the operating system to an endpoint "tcp://127.0.0.1:port" or "ipc://path", for
/// tests that talk to a socket below ZMTP. Waits for `patience` at most; what goes wrong throws
/// std::runtime_error, unless it says otherwise.
class raw_peer {
public:
    raw_peer() = default;
    explicit raw_peer(const std::string& endpoint);
    /// Takes over a descriptor.
    explicit raw_peer(int descriptor) : fd_(descriptor) {}
    /// Nothing if nobody listens there.
    static std::optional<raw_peer> try_to(const std::string& endpoint);
    ~raw_peer() { close(); }
    raw_peer(raw_peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    raw_peer& operator=(raw_peer&& other) noexcept
    {
        if (this != &other) {
            close();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }

    int fd() const { return fd_; }
    void send(const std::string& bytes) const;
    /// Waits until the kernel has passed on all that was sent: a reset drops the rest.
    void wait_until_sent() const;
    /// Exactly `bytes` bytes.
    std::string recv(std::size_t bytes) const;
    /// The same, or fewer if the peer ends the stream or `window` passes; never throws.
    std::string recv_at_most(std::size_t bytes, std::chrono::milliseconds window = patience) const;
    /// All bytes up to the end of the stream (or a reset).
    std::string recv_to_end() const;
    /// Waits for bytes or the end of the stream. @return true if it is the end.
    bool ended(std::chrono::milliseconds window = patience) const;
    void close();
    /// Closes with a reset instead of an end.
    void abort();

private:
    int fd_ = -1;
};

/// Listens on a port of 127.0.0.1 of its own, or at a file, which it leaves behind.
class raw_listener {
public:
    explicit raw_listener(int backlog = 100);
    /// tcp or ipc.
    explicit raw_listener(transport kind);
    ~raw_listener();
    raw_listener(const raw_listener&) = delete;
    raw_listener& operator=(const raw_listener&) = delete;

    int fd() const { return fd_; }
    int port() const { return port_; }
    std::string host_port() const { return "127.0.0.1:" + std::to_string(port_); }
    /// As zmq_connect takes it.
    std::string endpoint() const { return file_.empty() ? "tcp://" + host_port() : file_; }
    raw_peer accept() const;
    /// The next connection, if one comes within `window`.
    std::optional<raw_peer> try_accept(std::chrono::milliseconds window = patience) const;
    /// Does a connection come within `window`?
    bool has_caller(std::chrono::milliseconds window) const;

private:
    void listen_on_port(int backlog);

    int fd_ = -1;
    int port_ = 0;
    std::string file_; ///< endpoint of ipc
};

} // namespace zlink::test
