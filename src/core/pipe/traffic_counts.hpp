// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zlink::core {

/// What has been done to move messages: which of the rules that choose who writes, and when, have
/// acted. Sums of counters of links, sockets and threads.
struct traffic_counts {
    // Of links: writes to connections.
    std::uint64_t direct_writes = 0; ///< by the sending thread, of one message
    std::uint64_t batch_writes = 0;  ///< by the sending thread, of what it has batched
    std::uint64_t io_writes = 0;     ///< by the I/O thread
    std::uint64_t write_retries = 0; ///< by the sending thread, as the connection took no more
    std::uint64_t written_bytes = 0;
    std::uint64_t written_messages = 0; ///< taken from queues for that
    // Of links: calls of outlet::flush(), by reason.
    std::uint64_t full_flushes = 0;
    std::uint64_t age_checks = 0;
    std::uint64_t backlog_flushes = 0;
    std::uint64_t wait_flushes = 0;
    // Of links: reading by the socket's thread.
    std::uint64_t lease_requests = 0;
    std::uint64_t leases = 0;
    std::uint64_t leased_reads = 0; ///< that found something
    // Of links: wake-ups of the I/O thread, one for all that it was asked for until then.
    std::uint64_t io_requests = 0;
    // Of a socket: waits.
    std::uint64_t good_spins = 0;
    std::uint64_t failed_spins = 0;
    std::uint64_t sleeps = 0;
    // Of the thread that asks: its batches to several connections at once.
    std::uint64_t due_flushes = 0;   ///< as the oldest message was as old as one may be
    std::uint64_t ended_batches = 0; ///< as the thread was going to wait, or found nothing
    std::uint64_t guard_rounds = 0;  ///< in which an I/O thread was asked to write for it
    std::uint64_t hand_overs = 0;    ///< to the I/O threads, of too many connections

    traffic_counts& operator+=(const traffic_counts& other) noexcept;
};

/// A line: the name of each count, '=' and its value, separated by spaces. Throws std::bad_alloc.
std::string describe(const traffic_counts& counts);

} // namespace zlink::core
