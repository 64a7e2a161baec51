// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace zlink::test {

/// How messages travel in a cell; the first type sends, the second receives.
enum class flow { pair, pub_sub, push_pull, dealer_dealer, dealer_router, router_router };

/// Name of a flow as used on the command line.
const char* name_of(flow pattern);

/// One combination of everything the matrix varies.
struct cell {
    flow pattern = flow::pair;
    std::string link = "tcp"; ///< name of a link_kind, which the library must have
    std::size_t size_bytes = 64;
    std::uint64_t count = 0;
    int hwm = 1000;
    bool slow_receiver = false;

    /// One line for progress and failures.
    std::string description() const;
};

/// What became of a cell.
struct cell_result {
    bool passed = false;
    /// Set when the threads of the cell could not be stopped: the process must end.
    bool unstoppable = false;
    double seconds = 0;
    /// Why it failed and where both sides were; empty if it passed.
    std::string failure;
};

/// Sends `count` numbered and checksummed messages through fresh sockets in a fresh context.
/// @param stall the cell fails when neither side makes progress for this long
cell_result run_cell(const cell& what, std::chrono::milliseconds stall);

} // namespace zlink::test
