// SPDX-License-Identifier: Apache-2.0
//
// The five conversations of the demonstration. The talker starts, the listener answers:
//   pair      N messages each way            pipeline  N messages PUSH -> PULL
//   pubsub    N wanted ones among 2N         reqrep    N round trips, one at a time
//   dealer    N round trips DEALER <-> ROUTER, up to 64 under way
#pragma once

#include "socket.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace demo {

enum class role { talker, listener };

struct settings {
    std::string pattern;
    demo::role role = role::listener;
    std::string endpoint;
    bool bind = false;
    std::uint64_t count = 20000;
    int timeout_ms = 15000;
};

/// What one end counted. `begin` is when it started, on a receiving end when the first message
/// came.
struct tally {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

/// How a subscriber tells its publisher that the subscription works: over the standard streams of
/// two processes, or through a flag when both ends are threads.
struct readiness {
    std::atomic<bool>* shared = nullptr;

    void announce() const;
    /// Waits up to `ms` (not at all between threads) and returns whether the other end is ready.
    bool wait_ms(int ms) const;
};

/// The socket type of this end. Throws std::runtime_error for an unknown pattern.
int socket_type(const settings& how);

/// Sets what the pattern needs before the socket is bound or connected.
void prepare(peer_socket& socket, int type);

/// Runs this end to its end. Throws std::runtime_error on a wrong or missing message.
tally converse(peer_socket& socket, int type, const settings& how, const readiness& ready);

} // namespace demo
