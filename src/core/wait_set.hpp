// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor_wakeup.hpp"
#include "core/socket.hpp"

#include <csignal>
#include <cstdint>
#include <poll.h>
#include <vector>

namespace zlink::core {

/// The sleep of a thread that waits for news of several sockets. Sockets that belong to the thread
/// end it with their mail. Those that many threads use are watched: their gates signal.
///
/// Use: add() the sockets, prepare(), and then again and again begin(), a look at all of the
/// sockets, and sleep(). That look ends with socket::poll_events() or socket::expect_mail() of each
/// socket that is watched.
/// Thread safety: one thread, the one that uses the sockets.
/// Lifetime: the sockets outlive the object; thread-safe ones may be closed meanwhile.
class wait_set {
public:
    wait_set() = default;
    ~wait_set();
    wait_set(const wait_set&) = delete;
    wait_set& operator=(const wait_set&) = delete;

    /// A socket may be added more than once. `for_input`: it is input that is waited for.
    void add(socket& waited_for, bool for_input);
    /// Once, after the last add(). From now on watched sockets signal: all of them have to be
    /// looked at afterwards. `with_descriptors`: sleep() gets descriptors or a signal mask. 0 or
    /// errno.
    int prepare(bool with_descriptors);
    /// Are there watched sockets?
    bool watches() const noexcept { return !gates_.empty(); }

    /// What is signalled from now on ends the next sleep, even if that has not begun.
    void begin() noexcept { seen_ = waiter_.count(); }
    /// Sleeps until there may be news. `polled` ends it as well, and is as before afterwards; the
    /// mask is in force meanwhile. 0, EINTR, or the errno of a descriptor that cannot be had.
    int sleep(base::deadline until, bool& timed_out, std::vector<pollfd>& polled,
              const sigset_t* mask = nullptr);

private:
    base::wait_result sleep_on_waiter(base::deadline until);
    bool leave_reading();
    int sleep_on_descriptors(base::deadline until, bool& timed_out, std::vector<pollfd>& polled,
                             const sigset_t* mask);

    std::vector<socket*> own_;          ///< sockets that belong to this thread
    std::vector<socket*> readers_;      ///< those of them whose connections it may read by itself
    std::vector<socket*> writers_;      ///< the others
    std::vector<int> lent_;             ///< descriptors of such connections
    std::vector<base::mailbox*> boxes_; ///< theirs, each once
    std::vector<socket_gate*> gates_;   ///< of the others, each once
    bool on_waiter_ = true;             ///< all news come through it
    base::waiter waiter_;
    std::uint32_t seen_ = 0;
    // Gates signal as many as ask for it, which here is one of these two.
    base::descriptor_wakeup alarm_;
    base::wakeup* watching_ = nullptr;
};

} // namespace zlink::core
