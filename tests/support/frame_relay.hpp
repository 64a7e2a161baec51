// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/endpoint.hpp"
#include "support/raw_peer.hpp"
#include "support/relay_entrance.hpp"

namespace zlink::test {

/// Connections to an endpoint by way of a relay that sees where the frames of ZMTP 3 begin and end,
/// and passes on what a test says in the place of each. Greetings pass as they are.
///
/// Thread safety: works in a thread of its own; the functions may be called in any.
class frame_relay {
public:
    enum class direction : std::uint8_t { to_server, to_client };
    struct frame {
        direction way;
        std::size_t connection; ///< counted from 0
        std::size_t number;     ///< in its direction, from 0: the first command of the handshake
        std::string bytes;      ///< head and body
    };
    /// What passes in the place of a frame.
    struct passed {
        passed(std::string what, bool last = false) : bytes(std::move(what)), is_last(last) {}

        std::string bytes;
        bool is_last; ///< then the connection ends
    };
    /// Called in the relay's thread.
    using rule = std::function<passed(const frame&)>;

    /// `target`: "tcp://127.0.0.1:port" or "ipc://path", of that kind.
    frame_relay(transport kind, std::string target);
    ~frame_relay() = default;
    frame_relay(const frame_relay&) = delete;
    frame_relay& operator=(const frame_relay&) = delete;

    /// To connect to instead of the target.
    std::string endpoint() const { return entrance_.endpoint(); }
    /// From now on frames pass by this rule, and the one before it is not called any more. Without
    /// one they pass as they are.
    void set(rule how);
    /// How many connections there have been.
    std::size_t connections() const { return connections_; }

private:
    /// What has come from one side, and was not passed on yet.
    struct half {
        std::size_t greeting_left_bytes = 64;
        std::size_t frames = 0;
        std::string waiting;
    };
    struct link {
        raw_peer client;
        raw_peer server;
        std::size_t number;
        half to_server;
        half to_client;
    };

    void run(const std::stop_token& stop);
    void accept();
    bool pass_on(link& at, direction way);

    const relay_entrance entrance_;
    std::mutex mutex_;
    rule rule_; ///< under the mutex
    std::atomic<std::size_t> connections_{0};
    std::list<link> links_; ///< of the thread
    std::jthread thread_;   ///< last: it uses the rest
};

} // namespace zlink::test
