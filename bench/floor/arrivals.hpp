// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/channel.hpp"
#include "bare/sockets.hpp"
#include "floor/records.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zlink::bench {

/// Receives what comes to some connections in one thread, whichever have input, and checks the
/// number of every message. Throws std::runtime_error.
class arrivals_checker {
public:
    /// Who sends to a connection: all of so many parties, or only the one that it is itself,
    /// counted from `first_party`.
    struct senders {
        bool is_own_party = false;
        std::size_t first_party = 0;
        std::size_t parties = 1;
    };

    /// The channels are borrowed.
    arrivals_checker(const record_format& format, std::vector<bare::channel*> from,
                     const senders& expected);

    /// Receives so many messages. No more may have been sent by now.
    void receive(std::uint64_t count);

    /// Throws unless each party has sent so many to each connection.
    void require_complete(std::uint64_t each) const;

    /// The latencies of messages that said what time they count from.
    std::vector<std::int64_t>& latencies_ns() { return latencies_ns_; }

private:
    void check(std::size_t index, const char* record);

    const record_format& format_;
    std::vector<bare::channel*> from_;
    senders expected_;
    bare::watcher ready_;
    record_reader reader_;
    std::vector<record_reader::rest> begun_;
    std::vector<std::uint64_t> next_; ///< the next number for each connection and party
    std::vector<std::int64_t> latencies_ns_;
};

} // namespace zlink::bench
