// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

#include "support/endpoint.hpp"
#include "support/raw_peer.hpp"

namespace zlink::test {

/// One connection to an endpoint by way of a relay that passes on so many bytes each second,
/// evenly; what comes back it passes on at once. It holds little itself, so that the rest stays
/// with who sends. Thread safety: works in a thread of its own; freeze() and passed() in any.
class slow_link {
public:
    slow_link(transport kind, std::string target, double bytes_per_second);
    ~slow_link() = default;
    slow_link(const slow_link&) = delete;
    slow_link& operator=(const slow_link&) = delete;

    /// To connect to instead of the target.
    std::string endpoint() const { return listener_.endpoint(); }
    /// From now on nothing is passed on any more, in either direction; both connections stay.
    void freeze() { frozen_ = true; }
    /// How many bytes have gone to the target.
    std::size_t passed() const { return passed_; }

private:
    void run(const std::stop_token& stop);

    const raw_listener listener_;
    const std::string target_;
    const double bytes_per_second_;
    std::atomic<bool> frozen_{false};
    std::atomic<std::size_t> passed_{0};
    std::jthread thread_; ///< last: it uses the rest
};

} // namespace zlink::test
