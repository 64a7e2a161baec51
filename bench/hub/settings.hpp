// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cell.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace zlink::bench::hub {

/// One hub with very many connections, whose peers are in other processes.
struct settings {
    bench::transport transport = transport::tcp;
    bool publishes = false; ///< XPUB to all SUB instead of ROUTER to all DEALER in rotation
    int connections = 10'000;
    int processes = 2; ///< that the peers are divided among
    int stalled = 0;   ///< of the peers, which never read
    int io_threads = 1;
    int hwm = 20;
    std::size_t size_bytes = 64;
    std::uint64_t rounds = 100; ///< timed ones; in each one every peer gets a message
    unsigned timeout_s = 120;
    std::string directory; ///< for ipc endpoints

    std::uint64_t warm_up() const { return 1 + rounds / 10; }
    int peers_of(int process) const
    {
        return connections * (process + 1) / processes - first_of(process);
    }
    int first_of(int process) const { return connections * process / processes; }
    int stalled_of(int process) const { return process == 0 ? stalled : 0; }

    /// Rounds that may be in flight. The hub waits instead of filling queues, which may drop when
    /// they hold a quarter of the high-water mark.
    std::uint64_t window() const;
};

/// Reads the command line. Prints help or a complaint and exits the process where appropriate.
settings parse(int argc, char** argv);

} // namespace zlink::bench::hub
