// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "worker/run_guard.hpp"
#include "worker/settings.hpp"
#include "worker/zmq_handles.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace zlink::bench::worker {

/// Contexts, sockets and threads of a cell with many connections. The hub is the side with one
/// socket (with a proxy: its two), the parties are all the others.
///
/// What may fail is done before the first thread is started, or in such a thread: a failure there
/// ends the run. Not thread-safe, except that while threads run one of them may open sockets.
class stage {
public:
    /// `sockets` and more will be open at a time. Throws `failure` if the process may not have as
    /// many descriptors as that takes.
    stage(const settings& chosen, run_guard& guard, int sockets);
    stage(const stage&) = delete;
    stage& operator=(const stage&) = delete;

    const settings& chosen() const { return chosen_; }

    /// Sockets have the high-water marks of the run and live until the stage ends. The hub binds,
    /// parties connect.
    socket& open_hub(int type);
    socket& open_party(int type);

    /// Binds to an endpoint of its own and tells where to connect to.
    std::string bind(socket& target);

    /// Runs `body` in a thread, and ends the run with an error if it throws.
    void start(std::function<void()> body);

    /// The same for a thread that serves until end_services(): its calls then end with ETERM.
    void start_service(std::function<void()> body);

    /// Waits until the threads of start() have ended.
    void join();

    /// Ends those of start_service(), after join(). No socket can be used any more.
    void end_services();

private:
    socket& open(const context& owner, int type);
    std::thread guarded(std::function<void()> body);

    const settings& chosen_;
    run_guard& guard_;
    context hub_;
    std::optional<context> parties_; ///< unless all share one
    std::deque<socket> sockets_;
    std::vector<std::thread> threads_;
    std::vector<std::thread> services_;
    int endpoints_ = 0;
};

} // namespace zlink::bench::worker
