// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/settings.hpp"

#include <sys/types.h>

#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace zlink::bench::worker {

/// Sees to it that a run ends with exactly one line of JSON, whatever happens: success, an error on
/// either side, a peer process that dies, a signal, or a run that hangs.
///
/// A thread waits for those events; it sleeps while messages are timed. All functions are
/// thread-safe except where noted.
class run_guard {
public:
    /// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread, to be handled by the guard, and
    /// creates the directory for ipc endpoints if the run needs one. Construct it before any
    /// other thread exists. `chosen` must outlive the guard; its ipc_directory is filled in.
    explicit run_guard(settings& chosen);

    /// Removes the directory.
    ~run_guard();
    run_guard(const run_guard&) = delete;
    run_guard& operator=(const run_guard&) = delete;

    /// Starts watching. Takes the id of the peer process and the descriptor of its standard output,
    /// which has to say "ok" at its end; -1 if there is none. Call once.
    void watch(pid_t peer, int peer_output);

    /// Prints `line` as the result of the run, which is thereby decided.
    void succeed(std::string_view line);

    /// Prints an error line and ends the process. `status` is "error", "timeout" or "skipped" (the
    /// library does not have what is to be measured; that is no failure of the process).
    [[noreturn]] void fail(std::string_view status, std::string_view reason);

private:
    void watch_until_stopped(pid_t peer, int peer_output);
    void check_peer(pid_t peer, int peer_output);
    void remove_directory() const;

    settings& chosen_;
    int stop_event_;
    int signals_;
    std::mutex outcome_; ///< held for good by whoever decides the outcome
    std::thread watcher_;
};

} // namespace zlink::bench::worker
