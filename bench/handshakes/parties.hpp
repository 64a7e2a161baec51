// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/tls.hpp"

#include <cstdint>
#include <memory>
#include <semaphore>

namespace zlink::bench {

/// Who is at an end of the connections.
enum class party { openssl, library };

/// Counts the messages that have come to the server.
using arrivals = std::counting_semaphore<>;

/// Takes connections on the loopback interface.
class handshake_server {
public:
    virtual ~handshake_server() = default;
    virtual std::uint16_t port() const = 0;

    /// Takes so many connections with a message each, and releases `arrived` for each of them.
    virtual void serve(int connections, arrivals& arrived) = 0;
};

/// Makes connections to a server, one after the other, with a message on each.
class handshake_client {
public:
    virtual ~handshake_client() = default;

    /// Returns when the last connection is made, or earlier.
    virtual void connect(std::uint16_t port, int connections, arrivals& arrived) = 0;
};

/// They throw std::runtime_error or an exception derived from it, also if the library has no tls.
std::unique_ptr<handshake_server> make_server(party who, bare::tls_version version);

/// With `resume` each connection but the first resumes the session of the one before, and it is an
/// error if it cannot. Sockets of the library that are made one after the other do not do that.
std::unique_ptr<handshake_client> make_client(party who, bare::tls_version version, bool resume);

} // namespace zlink::bench
