// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bare/channel.hpp"
#include "floor/records.hpp"
#include "worker/pace.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace zlink::bench {

/// Gathers messages for one connection, or the same messages for several, and writes them when
/// they are as many bytes as one write is best given.
class batch {
public:
    /// The channels are borrowed; their writes wait.
    batch(const record_format& format, std::vector<bare::channel*> to, std::size_t limit_bytes)
        : format_(&format), to_(std::move(to)), limit_bytes_(limit_bytes)
    {
        gathered_.reserve(limit_bytes + format.bytes());
    }

    void append(worker::message_number number, std::int64_t from_ns)
    {
        format_->append(gathered_, number, from_ns);
        if (gathered_.size() + format_->bytes() > limit_bytes_) {
            write();
        }
    }

    /// Writes what there is.
    void write()
    {
        if (gathered_.empty()) {
            return;
        }
        for (bare::channel* const each : to_) {
            each->write_all(gathered_.data(), gathered_.size());
        }
        gathered_.clear();
    }

private:
    const record_format* format_;
    std::vector<bare::channel*> to_;
    std::size_t limit_bytes_;
    std::vector<char> gathered_;
};

/// How many bytes are best gathered for one write to a connection that carries so many messages.
/// Not more messages than a socket of the library that is measured may queue (0: any number), and
/// so few that both sides are busy at the same time.
std::size_t batch_limit_bytes(std::size_t record_bytes, std::uint64_t messages, int hwm);

/// Messages that a thread sends: in each round one through each of its batches, in rotation.
struct rounds {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint32_t first_party = 0; ///< that of the first batch, which its messages name
};

/// Sends them all. With `paced` each when it is due, together with the others that are; the thread
/// writes everything that it has gathered before it sleeps.
void send_rounds(std::vector<batch>& through, const rounds& wanted, worker::pace* paced);

} // namespace zlink::bench
