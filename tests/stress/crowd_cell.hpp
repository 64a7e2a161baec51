// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "support/endpoint.hpp"

namespace zlink::test {

/// Who talks to whom.
enum class scene {
    router_dealer,        ///< one ROUTER sends to each DEALER in turn
    server_client,        ///< one SERVER to each CLIENT in turn (drafts)
    push_pull,            ///< one PUSH to many PULL
    pub_sub,              ///< one PUB to many SUB, dropping nothing; an XPUB if they come and go
    dealer_rep,           ///< one DEALER asks many REP
    dealer_router,        ///< one DEALER asks many ROUTER
    many_push,            ///< threads with several PUSH each to one PULL
    many_dealer,          ///< threads with several DEALER each to one ROUTER
    broker_dealer_dealer, ///< DEALER clients, a proxy from ROUTER to DEALER, DEALER workers
    broker_dealer_rep,
    broker_req_dealer,
    broker_req_rep,
};

/// How large the messages are.
enum class bodies {
    small,     ///< 64 bytes
    middle,    ///< 1 KiB
    mixed,     ///< up to 100 kB
    multipart, ///< one to four parts of up to 100 kB
    any,       ///< a part of any size up to 100 kB, small ones more often
    any_parts, ///< one to four of these
};

/// How the sockets of the peers are spread over threads.
enum class readers {
    shared, ///< two threads, which poll
    own,    ///< a thread for each peer, which waits in the receiving call
};

const char* name_of(scene what);
const char* name_of(bodies what);
const char* name_of(readers what);

/// One combination of everything that is varied.
struct crowd_cell {
    scene what = scene::router_dealer;
    transport kind = transport::tcp;
    bodies body = bodies::small;
    int hwm = 1000; ///< of both ends and directions
    int peers = 10;
    bool come_and_go = false; ///< peers end in an orderly way, and others take their places
    readers threads = readers::shared;
    std::uint64_t count = 0; ///< messages of all peers together, roughly

    /// One line for progress and failures.
    std::string description() const;
};

/// What became of a cell.
struct crowd_result {
    bool passed = false;
    bool skipped = false; ///< the library has no such sockets
    /// Threads are left that could not be stopped: the process must end.
    bool unstoppable = false;
    double seconds = 0;
    /// Why it failed, and where everybody was; empty if it passed.
    std::string failure;
};

/// Runs a cell with fresh contexts.
/// @param stall the cell fails when nobody makes progress for this long
crowd_result run_crowd(const crowd_cell& cell, std::chrono::milliseconds stall);

} // namespace zlink::test
