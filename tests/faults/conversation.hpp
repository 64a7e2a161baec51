// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <string>

namespace zlink::test {

/// What sockets talk in, and by what.
struct fault_setting {
    std::string transport;
    std::string mechanism; ///< null, plain, curve
    std::string pattern;   ///< push-pull, dealer-router, req-rep, pub-sub
};

/// What became of a conversation.
struct fault_outcome {
    int said = 0;          ///< calls that answered with an error
    int lost = 0;          ///< accepted and never received
    int twice = 0;         ///< received more than once
    int wrong = 0;         ///< other bytes or other parts than were sent
    bool deaf = false;     ///< later messages do not arrive over the old connection
    bool unserved = false; ///< nor over a fresh one
    bool refused = false;  ///< a socket or an address could not be had, however often it was tried
    long end_ms = 0;       ///< how long zmq_ctx_term took
};

/// Runs conversations one after the other. While calls fail, a context is made, and two sockets of
/// it exchange messages that are counted; afterwards the same sockets have to understand each
/// other, and so has a fresh one, and the context has to end.
class conversation {
public:
    explicit conversation(const fault_setting& what);
    ~conversation();
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    /// Arms the injector, and disarms it.
    fault_outcome run();
    /// Where it is. Any thread.
    const char* step() const { return step_; }
    /// How long sockets linger.
    static constexpr int linger_ms = 1000;

private:
    struct impl;
    impl* const impl_;
    std::atomic<const char*> step_{"start"};
};

} // namespace zlink::test
