// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/endpoint.hpp"
#include "support/raw_peer.hpp"
#include "support/relay_entrance.hpp"

namespace zlink::test {

/// A relay of bytes in front of an endpoint, which can reset all connections that it has.
/// Thread safety: works in a thread of its own; the functions may be called in any.
class soak_relay {
public:
    /// `target`: "tcp://127.0.0.1:port" or "ipc://path", of that kind. Nobody has to listen there
    /// yet.
    soak_relay(transport kind, std::string target);
    ~soak_relay() = default;
    soak_relay(const soak_relay&) = delete;
    soak_relay& operator=(const soak_relay&) = delete;

    /// To connect to instead of the target.
    std::string endpoint() const { return entrance_.endpoint(); }
    /// Returns when all connections of now are reset, wherever they are in a message.
    void cut();

private:
    /// What has come from one side and has not gone to the other.
    struct half {
        std::string waiting;
        bool has_ended = false;
        bool has_passed_end = false;
    };
    struct link {
        raw_peer client;
        raw_peer server;
        half to_server;
        half to_client;
    };

    void run(const std::stop_token& stop);
    void accept();
    static bool move(raw_peer& from, raw_peer& to, half& way);
    void cut_if_told();

    const relay_entrance entrance_;
    std::list<link> links_; ///< of the thread
    std::mutex mutex_;
    std::condition_variable is_cut_;
    std::size_t wanted_cuts_ = 0; ///< under the mutex
    std::size_t made_cuts_ = 0;   ///< under the mutex
    std::jthread thread_;         ///< last: it uses the rest
};

} // namespace zlink::test
