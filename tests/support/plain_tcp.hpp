// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "support/wait.hpp"

namespace zlink::test {

/// A tcp connection of the operating system, for tests that talk to a socket below ZMTP.
class plain_connection {
public:
    explicit plain_connection(int fd = -1) : fd_(fd) {}
    ~plain_connection() { close(); }
    plain_connection(plain_connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    plain_connection& operator=(plain_connection&& other) noexcept;

    /// Connects to a port of 127.0.0.1.
    static plain_connection to(int port);
    /// The same; nothing if nobody listens there.
    static std::optional<plain_connection> try_to(int port);

    int fd() const { return fd_; }
    void close();
    void send(const std::string& bytes) const;
    /// Exactly `count` bytes, or fewer if the peer ends the stream or `window` passes.
    std::string recv(std::size_t count, std::chrono::milliseconds window = patience) const;
    /// Waits for bytes or the end of the stream. @return true if it is the end.
    bool ended(std::chrono::milliseconds window = patience) const;

private:
    int fd_;
};

/// Listens on a port of its own at 127.0.0.1.
class plain_listener {
public:
    plain_listener();
    ~plain_listener();
    plain_listener(const plain_listener&) = delete;
    plain_listener& operator=(const plain_listener&) = delete;

    int port() const { return port_; }
    std::string host_port() const { return "127.0.0.1:" + std::to_string(port_); }
    std::string address() const { return "tcp://" + host_port(); }
    /// The next connection, if one comes within `window`.
    std::optional<plain_connection> accept(std::chrono::milliseconds window = patience) const;

private:
    int fd_;
    int port_ = 0;
};

} // namespace zlink::test
