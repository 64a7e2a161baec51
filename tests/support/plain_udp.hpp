// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "support/wait.hpp"

namespace zlink::test {

/// A datagram socket of the operating system at an address of this machine, with a port of its own.
class plain_udp {
public:
    explicit plain_udp(const std::string& host = "127.0.0.1");
    ~plain_udp();
    plain_udp(const plain_udp&) = delete;
    plain_udp& operator=(const plain_udp&) = delete;

    int fd() const { return fd_; }
    int port() const { return port_; }
    /// As ZMQ_DGRAM names it.
    std::string address() const;
    /// Receives what is sent to a group on an interface.
    void join(const std::string& group, const std::string& interface_address) const;
    void send(const std::string& bytes, const std::string& host, int port) const;
    /// The next datagram, if one comes within `window`.
    std::optional<std::string> recv(std::chrono::milliseconds window = patience) const;

private:
    std::string host_;
    int fd_;
    int port_ = 0;
};

/// The port at the end of an endpoint.
int port_of(const std::string& endpoint);

} // namespace zlink::test
