// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sockets/announced_set.hpp"
#include "sockets/policy/topic_set.hpp"

namespace zlink::sockets {

/// The subscriptions of a SUB or XSUB socket.
class subscription_set final : public announced_set {
public:
    /// Only the socket's thread changes the set, so it may look without the lock.
    const topic_set& topics() const noexcept { return topics_; }

    void subscribe(std::span<const std::byte> topic);
    /// `always`: peers are told though the topic stays in the set, or was not there.
    void unsubscribe(std::span<const std::byte> topic, bool always);

private:
    void append_all(std::vector<std::byte>& frames, bool repeated) const override;

    topic_set topics_;
};

} // namespace zlink::sockets
