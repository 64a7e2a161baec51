// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "support/raw_peer.hpp"

namespace zlink::test {

/// Calls `flood` again and again in a thread of its own until it is destroyed. Stops after a while
/// by itself, so that a test of a call that is kept from returning fails rather than hangs.
class repeater {
public:
    template <class Flood>
    explicit repeater(Flood flood)
        : thread_([this, flood = std::move(flood)]() mutable {
              const stopwatch since_begin;
              while (!stop_ && since_begin.elapsed_ms() < longest.count() && flood()) {
              }
          })
    {}
    ~repeater()
    {
        stop_ = true;
        thread_.join();
    }
    repeater(const repeater&) = delete;
    repeater& operator=(const repeater&) = delete;

private:
    static constexpr std::chrono::milliseconds longest{5000};

    std::atomic<bool> stop_{false};
    std::thread thread_; // last: it uses the others
};

/// Sends the same bytes over a connection over and over again, as fast as they are taken, and takes
/// what comes the other way.
class flooder {
public:
    flooder(raw_peer peer, const std::string& bytes)
        : peer_(std::move(peer)), chunk_(repeated(bytes)), running_([this] { return send_some(); })
    {}

private:
    static std::string repeated(const std::string& bytes)
    {
        constexpr std::size_t worth_a_call_bytes = 256 * 1024;
        std::string chunk;
        while (chunk.size() < worth_a_call_bytes)
            chunk += bytes;
        return chunk;
    }

    // False if the connection has ended.
    bool send_some()
    {
        pollfd entry{peer_.fd(), POLLIN | POLLOUT, 0};
        if (::poll(&entry, 1, 10) <= 0)
            return true;
        if (entry.revents & POLLIN) {
            char ignored[16 * 1024];
            if (::recv(peer_.fd(), ignored, sizeof ignored, MSG_DONTWAIT) == 0)
                return false;
        }
        if (!(entry.revents & POLLOUT))
            return true;
        const ssize_t sent = ::send(peer_.fd(), chunk_.data() + at_, chunk_.size() - at_,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        at_ = (at_ + static_cast<std::size_t>(sent)) % chunk_.size();
        return true;
    }

    raw_peer peer_;
    std::string chunk_;
    std::size_t at_ = 0;
    repeater running_; // last: it uses the others
};

} // namespace zlink::test
