// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/numbering.hpp"
#include "worker/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace zlink::bench::worker {

/// Which numbers come to the sockets of an inbox.
enum class arrivals {
    from_each, ///< to every socket all of every party, in order
    to_each,   ///< to every socket all of the one party it is, in order
    shared,    ///< those of party 0, each to any one socket; in order at each socket, with gaps
};

struct inbox_plan {
    arrivals expected = arrivals::from_each;
    std::size_t parties = 1;     ///< from_each: how many send
    std::size_t first_party = 0; ///< to_each: which the first socket is
    bool routing_ids = false;    ///< each message is [routing id][body] (ROUTER)
    receive_order order = receive_order::turn;
};

/// Receives what comes to some sockets in one thread, and checks the size and number of every
/// message. The sockets are borrowed. Throws `failure`.
class inbox {
public:
    inbox(const settings& chosen, std::vector<void*> sockets, const inbox_plan& plan);
    ~inbox();
    inbox(const inbox&) = delete;
    inbox& operator=(const inbox&) = delete;

    /// Receives until probes from all parties have come to all sockets (not to_each). Calls `met`
    /// at each first one.
    void meet(std::function<void()> met);

    /// Makes room for the latencies of so many messages, and touches it, so that this is not done
    /// while timing.
    void reserve_latencies(std::uint64_t count)
    {
        latencies_ns_.resize(count);
        latencies_ns_.clear();
    }

    /// Receives so many messages, probes not counted.
    void receive(std::uint64_t count);

    /// Of those messages that said what it counts from.
    std::vector<std::int64_t>& latencies_ns() { return latencies_ns_; }

    /// Of all sequence numbers received; tells whether what was shared is complete.
    std::uint64_t sum_of_sequences() const { return sum_of_sequences_; }

private:
    enum class found { nothing, probe, message };

    found take(std::size_t index, int flags);
    void check(std::size_t index, message_number number);
    void note_probe(std::size_t index, message_number number);
    std::uint64_t receive_ready(std::uint64_t limit);
    void wait_until_ready();
    bool has_input(std::size_t index) const;
    std::uint64_t& next_of(std::size_t index, std::uint32_t party);

    const settings& chosen_;
    std::vector<void*> sockets_;
    inbox_plan plan_;
    bool timed_;
    std::vector<char> body_;
    std::vector<char> id_;
    std::vector<std::uint64_t> next_; ///< the next number for each socket and sending party
    std::vector<bool> met_;           ///< likewise: has a probe come?
    std::size_t missing_ = 0;         ///< false ones of these
    std::function<void()> on_met_;
    std::uint64_t early_ = 0;       ///< poll: messages that came right behind the probes
    std::size_t turn_ = 0;          ///< the socket whose turn it is
    std::deque<std::size_t> ready_; ///< poll: sockets that may have messages
    int epoll_ = -1;                ///< poll: watches the others
    std::vector<std::int64_t> latencies_ns_;
    std::uint64_t sum_of_sequences_ = 0;
};

} // namespace zlink::bench::worker
