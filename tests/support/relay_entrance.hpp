// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "support/endpoint.hpp"
#include "support/raw_peer.hpp"

namespace zlink::test {

/// Where clients connect to a relay that stands in front of an endpoint.
class relay_entrance {
public:
    /// A client's connection, and the one that the relay has made for it.
    struct connections {
        raw_peer client;
        raw_peer server;
    };

    /// `target`: "tcp://127.0.0.1:port" or "ipc://path", of that kind. Nobody has to listen there
    /// yet.
    relay_entrance(transport kind, std::string target);

    /// Becomes readable when a client waits.
    int fd() const { return listener_.fd(); }
    /// To connect to instead of the target.
    std::string endpoint() const { return listener_.endpoint(); }
    /// Lets in the client that waits. Nothing if there is none, or nobody listens at the target.
    std::optional<connections> let_in() const;

private:
    const raw_listener listener_;
    const std::string target_;
};

} // namespace zlink::test
