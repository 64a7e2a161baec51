// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace zlink::test {

/// A plain connection of the operating system to an endpoint "tcp://127.0.0.1:port" or
/// "ipc://path". All waiting has the deadline `patience`; what goes wrong throws
/// std::runtime_error.
class raw_peer {
public:
    explicit raw_peer(const std::string& endpoint);
    /// Takes over a connected descriptor.
    explicit raw_peer(int descriptor) : fd_(descriptor) {}
    ~raw_peer() { close(); }
    raw_peer(raw_peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    raw_peer(const raw_peer&) = delete;

    void send(const std::string& bytes);
    /// Exactly `bytes` bytes.
    std::string recv(std::size_t bytes);
    /// All bytes up to the end of the stream (or a reset).
    std::string recv_to_end();
    void close();
    /// Closes with a reset instead of an end.
    void abort();

private:
    int fd_ = -1;
};

/// Listens on a port of 127.0.0.1 of its own.
class raw_listener {
public:
    raw_listener();
    ~raw_listener();
    raw_listener(const raw_listener&) = delete;

    /// As zmq_connect takes it.
    const std::string& endpoint() const { return endpoint_; }
    raw_peer accept();
    /// Does a connection come within `window_ms`?
    bool has_caller(int window_ms) const;

private:
    int fd_ = -1;
    std::string endpoint_;
};

} // namespace zlink::test
