// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hub/settings.hpp"
#include "worker/control_channel.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace zlink::bench::hub {

/// What the peers of one process saw.
struct peers_report {
    std::int64_t longest_pause_ns = 0; ///< between two timed messages of a peer that reads
    std::int64_t cpu_ns = 0;           ///< during the timed rounds
    std::uint64_t grown_kib = 0;       ///< memory that the sockets and connections have taken

    static peers_report parse(const std::string& text);
    std::string text() const;
};

/// A process with a share of the peers, and what it and the hub tell each other about phases and
/// rounds. The process ends with this one, or when it fails.
class peers_process {
public:
    /// Starts them all. No thread may exist yet, nor a context of the library.
    static std::vector<peers_process> start(const settings& chosen);

    /// Lets the peers connect to the endpoint.
    void connect(const std::string& endpoint) { control_.send(endpoint); }

    /// Waits until the peers that read have one more round. Throws `failure` if they fail.
    void await_round() { control_.expect("round"); }

    /// What they saw, after the last round.
    peers_report report() { return peers_report::parse(control_.receive()); }

    /// Waits for the end of the process.
    void join();

private:
    peers_process(pid_t id, worker::control_channel control);

    pid_t id_;
    worker::control_channel control_;
};

} // namespace zlink::bench::hub
