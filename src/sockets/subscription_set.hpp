// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/socket_link.hpp"
#include "sockets/policy/topic_set.hpp"

#include <mutex>

namespace zlink::sockets {

/// The subscriptions of a SUB or XSUB socket. The socket's thread changes and asks them; I/O
/// threads take snapshots for new connections. Thread safety: snapshot() in any thread; topics()
/// and changes in the socket's thread only.
class subscription_set final : public core::subscription_source {
public:
    /// Only the socket's thread changes the set, so it may look without the lock.
    const topic_set& topics() const noexcept { return topics_; }

    /// Changes the set under the lock: `change(topic_set&)` also tells the connected peers.
    template <class Change>
    void change(Change change)
    {
        std::lock_guard lock(mutex_);
        change(topics_);
    }

    void snapshot(std::vector<std::byte>& frames, bool repeated,
                  const std::function<void()>& then) override;

private:
    std::mutex mutex_;
    topic_set topics_;
};

} // namespace zlink::sockets
